import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildPrograms, buildServers } from '../../local/build.ts';
import { bareEnvironment } from '../../local/operator.ts';
import { startStack, type Stack } from '../../local/stack.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet } from '../support/pod-sets.ts';
import { ask, type Answer } from '../support/asking.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { PROGRAM } from '../support/built.ts';
import { PODS, ROLE_BINDINGS, TestCluster } from '../support/cluster.ts';
import {
  chartedWithHooks,
  hookOf,
  INSTALL_MANIFEST,
  parseDocuments,
  withControllers,
  type Delivered,
} from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { endOperators, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { writeKubeconfig } from '../../testing/stack/service-account.ts';
import { TestTemporal } from '../support/temporal.ts';

/*
 * Installs the operator on a cluster of its own, lets it work, and runs the commands of docs/uninstalling.md. After that, the
 * cluster is what it was before.
 */

jest.setTimeout(600_000);
const WITHIN_MS = 90_000;

const ROOT = join(import.meta.dirname, '../..');
const NAMESPACE = 'durable-operator-system';
const TASK_QUEUE = 'durable-operator';
const TEAM = 'team-1';

let stack: Stack;
let cluster: TestCluster;
let temporal: TestTemporal;
let dir: string;
/** Programs by their names, for the PATH. */
let bin: string;
let programs: { readonly kubectl: string; readonly helm: string };

beforeAll(async () => {
  const { kubectl, ...binaries } = await buildServers({});
  programs = { kubectl, ...(await buildPrograms(['helm'], {})) };
  dir = await mkdtemp(join(tmpdir(), 'durable-operator-uninstall-'));
  bin = join(dir, 'bin');
  await mkdir(bin);
  for (const [name, path] of Object.entries(programs)) await symlink(path, join(bin, name));
  const plugin = `#!/bin/sh\nexec ${process.execPath} ${join(PROGRAM, '../ask/main.js')} "$@"\n`;
  await writeFile(join(bin, 'kubectl-durable'), plugin);
  await chmod(join(bin, 'kubectl-durable'), 0o755);
  stack = await startStack({ dir: join(dir, 'stack'), binaries });
  cluster = new TestCluster(stack.kubeconfig);
  temporal = new TestTemporal(stack.temporalAddress);
  await cluster.createNamespace(TEAM);
});

afterAll(async () => {
  await endOperators();
  await temporal.close();
  await cluster.close();
  await stack.stop();
  await rm(dir, { recursive: true });
});

/** Runs commands in the project's folder. @returns what they print */
async function shell(commands: string): Promise<string> {
  const env = {
    ...bareEnvironment(stack.temporalAddress),
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: dir,
    KUBECONFIG: stack.kubeconfig,
  };
  const { stdout } = await promisify(execFile)('bash', ['-euc', commands], { cwd: ROOT, env });
  return stdout;
}

/** The commands in a section of the page, or those of one kind. */
async function commandsOf(section: string, kind = ''): Promise<string> {
  const page = await readFile(join(ROOT, 'docs/uninstalling.md'), 'utf8');
  const text = page.split(/^## /m).find((each) => each.startsWith(section));
  const blocks = [...(text ?? '').matchAll(/^```sh ?(\w*)\n(.*?)^```$/gms)];
  const found = blocks.filter(([, of]) => of === kind).map(([, , commands]) => commands);
  if (found.length === 0) throw new Error(`docs/uninstalling.md has no commands of ${section} ${kind}`);
  return found.join('');
}

/** Everything in the cluster by kind and name, except what comes and goes by itself. */
async function everything(): Promise<readonly string[]> {
  const kinds = await shell('kubectl api-resources --verbs=list --output=name');
  const lasting = kinds
    .trim()
    .split('\n')
    .filter((kind) => !/^(events|componentstatuses|leases)\b/.test(kind));
  const objects = await shell(
    `kubectl get ${lasting.join()} --all-namespaces --no-headers --output=custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name
     kubectl get leases --namespace ${NAMESPACE} --output=name`,
  );
  return objects
    .split('\n')
    .map((line) => line.trim().replaceAll(/ +/g, ' '))
    .filter((line) => line !== '')
    .sort();
}

const Workload = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        serviceAccountName: z.string(),
        containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]),
      }),
    }),
  }),
});

/** A process stands in for the simulated Pods, with their arguments and permissions. */
async function asInstalled(object: Delivered | undefined) {
  const { serviceAccountName: name, containers } = Workload.parse(object).spec.template.spec;
  const file = join(dir, `${name}.kubeconfig`);
  const account = { namespace: NAMESPACE, name };
  await writeKubeconfig(cluster.client, { account, admin: stack.kubeconfig, file });
  return { kubeconfig: file, args: containers[0].args };
}

async function startInstalled(objects: readonly Delivered[]): Promise<Operator> {
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  const { kubeconfig, args } = await asInstalled(deployment);
  const [command = '', ...others] = args;
  const here = ['--metrics-addr=0', `--leader-election-namespace=${NAMESPACE}`];
  return startOperator({
    kubeconfig,
    temporalAddress: stack.temporalAddress,
    taskQueue: TASK_QUEUE,
    command,
    args: [...others, ...here],
  });
}

/** A build and a RoleBinding, once the operator has done its work. */
async function buildAndBinding(): Promise<LiveBuild> {
  const build = aBuild(TEAM).manifest;
  await cluster.create(BUILDS, build);
  const live = new LiveBuild(cluster, build, WITHIN_MS);
  await live.is('Succeeded');
  await eventually(() => cluster.get(BINDING), WITHIN_MS);
  return live;
}

/** A PodSet and a labelled Pod, once the operator has done its work. */
async function pods(): Promise<void> {
  const { metadata, ...podSet } = aPodSet().in(TEAM).wanting(2).object;
  await cluster.create(PodSetKind, { ...podSet, metadata: { name: metadata.name, namespace: TEAM } });
  await cluster.create(PODS, aPod().in(TEAM).named('labelled').annotated().manifest);
  await eventually(async () => {
    const found = await cluster.get<PodSet>({ type: PodSetKind, namespace: TEAM, name: metadata.name });
    return found?.status?.readyReplicas === 2;
  }, WITHIN_MS);
  await eventually(async () => (await labels())[POD_NAME_LABEL] === 'labelled', WITHIN_MS);
}

const BINDING = { type: ROLE_BINDINGS, namespace: TEAM, name: `ad-kubernetes-${TEAM}` };
const LABELLED = { type: PODS, namespace: TEAM, name: 'labelled' };

async function labels(): Promise<Readonly<Record<string, string>>> {
  return (await cluster.get(LABELLED))?.metadata.labels ?? {};
}

/** Without the operator, nobody would complete them. */
async function openRuns(): Promise<readonly string[]> {
  const open: string[] = [];
  for await (const { workflowId, runId } of temporal.client.workflow.list({
    query: "ExecutionStatus = 'Running'",
  })) {
    open.push(`${workflowId} ${runId}`);
  }
  return open;
}

function check(...args: readonly string[]): Promise<Answer> {
  const { kubeconfig, temporalAddress } = stack;
  return ask(['uninstall-check', ...args], { kubeconfig, temporalAddress });
}

/** The cluster is what it was, and Temporal has no open run. */
async function nothingIsLeft(before: readonly string[]): Promise<void> {
  await shell(await commandsOf('4.'));
  await cluster.deleteAndWait(LABELLED);
  await eventually(async () => {
    expect(await everything()).toEqual(before);
    return true;
  }, WITHIN_MS);
  await eventually(async () => {
    expect(await openRuns()).toEqual([]);
    return true;
  }, WITHIN_MS);
}

describe('an operator that was installed by Helm', () => {
  let before: readonly string[];
  let objects: readonly Delivered[];
  let operator: Operator;
  let build: LiveBuild;

  /** Installs or upgrades the release, and starts the process that stands in for its Pods. */
  async function release(command: string, flags: string, values: readonly string[] = []): Promise<void> {
    const sets = withControllers(values).map((value) => `--set '${value}'`);
    const where = `durable-operator deploy/helm --namespace ${NAMESPACE}`;
    await shell(`helm ${command} ${where} ${flags} ${sets.join(' ')}`);
    objects = await chartedWithHooks(values);
    operator = await startInstalled(objects);
  }

  it('works', async () => {
    before = await everything();
    await release('install', '--create-namespace');
    build = await buildAndBinding();
    await pods();
  });

  it('is not to be uninstalled while a build has its finalizer, and a run is open', async () => {
    const name = 'held';
    await cluster.create(BUILDS, aBuild(TEAM, name).with({ jobName: name }).lasting().manifest);
    await new LiveBuild(cluster, aBuild(TEAM, name).manifest, WITHIN_MS).is('Building');
    const { status, stdout } = await eventually(async () => {
      const answer = await check();
      return answer.stdout.includes('kubectl durable why') && answer;
    }, WITHIN_MS);
    expect(status).toBe(1);
    for (const each of ['sample', name])
      expect(stdout).toContain(`  kubectl delete xxxes.test.inspur.com ${each} --namespace ${TEAM}\n`);
    expect(stdout).toContain(`  kubectl durable why xxx/${name} -n ${TEAM}\n`);
  });

  it('is upgraded while that run is open, and the run stays the same', async () => {
    const builds = (await openRuns()).filter((run) => run.startsWith('git-build/'));
    expect(builds).toHaveLength(1);
    await operator.end('SIGTERM');
    await release('upgrade', '--reset-values', ['replicas=2']);
    await eventually(async () => (await operator.readiness()).status === 200, WITHIN_MS);
    expect(await openRuns()).toEqual(expect.arrayContaining(builds));
  });

  it('has removed the binaries from the nodes, once the builds are deleted', async () => {
    const { artifacts = [] } = (await build.get())?.status ?? {};
    expect(artifacts.map(({ binary }) => binary)).toEqual([build.binary]);
    await shell(await commandsOf('1.'));
    await build.gone();
    const reasons = (await cluster.eventsIn(TEAM)).map(({ note }) => note);
    expect(reasons.filter((note) => note.includes(artifacts[0]?.node ?? 'nowhere'))).not.toEqual([]);
    await eventually(async () => !(POD_NAME_LABEL in (await labels())), WITHIN_MS);
  });

  it('may then be uninstalled, and says what stays', async () => {
    await eventually(async () => (await check()).status === 0, WITHIN_MS);
    // In namespace default, the team's and the operator's own.
    expect((await check()).stdout).toMatch(/^Nothing would hang.*\nRoleBindings that would stay.*: 3\n$/s);
    await shell(await commandsOf('2.'));
  });

  it('leaves nothing behind, in the cluster and in Temporal', async () => {
    const { kubeconfig, args } = await asInstalled(objects.find((object) => hookOf(object) === 'pre-delete'));
    const answer = await ask(args, { kubeconfig, temporalAddress: stack.temporalAddress });
    expect(answer).toMatchObject({ status: 0, stderr: '' });
    await operator.end('SIGTERM');
    await shell(await commandsOf('3.', 'helm'));
    expect(await cluster.get(BINDING)).toBeDefined();
    await nothingIsLeft(before);
  });
});

describe('an operator that was installed by kubectl apply', () => {
  const DEPLOYMENT = {
    type: { group: 'apps', version: 'v1', plural: 'deployments' },
    namespace: NAMESPACE,
    name: 'durable-operator-controller-manager',
  };
  let before: readonly string[];
  let operator: Operator;

  it('gets all its Pods in a namespace that enforces Pod Security "restricted"', async () => {
    before = await everything();
    await shell('kubectl apply --server-side --filename deploy/install.yaml');
    await eventually(async () => {
      const found = await cluster.get(DEPLOYMENT);
      expect(found?.['status']).toMatchObject({ availableReplicas: 3, updatedReplicas: 3 });
      return true;
    }, WITHIN_MS);
  });

  it('works', async () => {
    operator = await startInstalled(parseDocuments(await readFile(INSTALL_MANIFEST, 'utf8')));
    await pods();
  });

  it('leaves nothing behind, in the cluster and in Temporal', async () => {
    await shell(await commandsOf('1.'));
    await eventually(async () => !(POD_NAME_LABEL in (await labels())), WITHIN_MS);
    await eventually(async () => (await check()).status === 0, WITHIN_MS);
    await operator.end('SIGTERM');
    await shell(await commandsOf('3.', 'kubectl'));
    await nothingIsLeft(before);
  });
});

describe('the check', () => {
  it('says that Temporal or the cluster does not answer, and then nothing is sure', async () => {
    const nowhere = { kubeconfig: stack.kubeconfig, temporalAddress: '127.0.0.1:1' };
    expect(await ask(['uninstall-check'], nowhere)).toMatchObject({ status: 2, stdout: '' });
    const missing = { kubeconfig: join(dir, 'missing'), temporalAddress: stack.temporalAddress };
    expect(await ask(['uninstall-check'], missing)).toMatchObject({ status: 2, stdout: '' });
  });

  it('is about all namespaces', async () => {
    expect((await check('-n', TEAM)).stderr).toContain('leave out -n');
  });
});
