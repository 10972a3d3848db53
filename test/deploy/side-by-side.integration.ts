import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildPrograms } from '../../local/build.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet } from '../support/pod-sets.ts';
import { ask } from '../support/asking.ts';
import { NAMESPACES, PODS, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { chartedWithHooks, hookOf, RELEASE, withControllers, type Delivered } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { apiCallsOf, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { userNameOf, writeKubeconfig, type ServiceAccount } from '../../testing/stack/service-account.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * Three operators in one cluster and one Temporal namespace, each for a team: two releases of the chart, and one whose
 * manifests Helm renders and kubectl applies. They are taken away one after the other, and the others never notice.
 */

jest.setTimeout(600_000);
const WITHIN_MS = 90_000;

const { stack, cluster, temporal } = setUpStage(async () => {
  for (const { namespace, uninstall } of installations) {
    // After a failure, its policies would stay in force for the next files.
    await uninstall('--no-hooks').catch(() => undefined);
    await cluster.delete({ type: NAMESPACES, name: namespace });
  }
  await rm(dir, { recursive: true });
});
let dir: string;
let helm: string;
let installations: readonly Installation[] = [];

/** One of them, and the process that stands in for its simulated Pods. */
interface Installation {
  /** Of the release. */
  readonly name: string;
  readonly namespace: string;
  /** The namespace that it watches. */
  readonly team: string;
  readonly objects: readonly Delivered[];
  readonly account: ServiceAccount;
  readonly operator: Operator;
  readonly uninstall: (...flags: readonly string[]) => Promise<unknown>;
}

beforeAll(async () => {
  ({ helm } = await buildPrograms(['helm'], {}));
  dir = await mkdtemp(join(tmpdir(), 'durable-operator-side-by-side-'));
  const teams = await Promise.all([cluster.aNamespace(), cluster.aNamespace(), cluster.aNamespace()]);
  const [one, two, three] = teams;
  installations = [await release(one), await applied(two), await release(three)];
});

function valuesFor(team: string): readonly string[] {
  return withControllers([`namespaces={${team}}`, 'metrics.secure=false', 'crds=false']);
}

async function release(team: string): Promise<Installation> {
  const name = uniqueName();
  const namespace = `${name}-system`;
  const values = valuesFor(team);
  await helmUpgrade({ name, namespace }, values);
  const objects = await chartedWithHooks(values, { name, namespace });
  const uninstall = (...flags: readonly string[]) =>
    run(helm, ['uninstall', name, ...placeOf(namespace), ...flags]);
  return { name, namespace, team, objects, uninstall, ...(await started(objects, namespace)) };
}

function placeOf(namespace: string): string[] {
  return ['--kubeconfig', stack.kubeconfig, '--namespace', namespace];
}

/** Installs the release, if there is none yet. */
function helmUpgrade(
  { name, namespace }: Pick<Installation, 'name' | 'namespace'>,
  values: readonly string[],
): Promise<string> {
  const sets = values.flatMap((value) => ['--set', value]);
  const how = ['--install', '--create-namespace', '--reset-values', ...placeOf(namespace)];
  return run(helm, ['upgrade', name, RELEASE.chart, ...how, ...sets]);
}

/** As deploy/install.yaml says: `helm template --no-hooks … | kubectl apply`. */
async function applied(team: string): Promise<Installation> {
  const name = uniqueName();
  const namespace = `${name}-system`;
  const objects = (await chartedWithHooks(valuesFor(team), { name, namespace })).filter(
    (object) => hookOf(object) === undefined,
  );
  const file = join(dir, `${name}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  await cluster.createNamespace(namespace);
  await kubectl('apply', '--server-side', '--filename', file);
  const uninstall = () => kubectl('delete', '--ignore-not-found', '--filename', file);
  return { name, namespace, team, objects, uninstall, ...(await started(objects, namespace)) };
}

const PodTemplate = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        serviceAccountName: z.string(),
        containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]),
      }),
    }),
  }),
});

/** With the arguments and the rights of its Deployment. */
async function started(objects: readonly Delivered[], namespace: string) {
  const deployment = PodTemplate.parse(objects.find(({ kind }) => kind === 'Deployment'));
  const { serviceAccountName, containers } = deployment.spec.template.spec;
  const account = { namespace, name: serviceAccountName };
  const kubeconfig = join(dir, `${namespace}.kubeconfig`);
  await writeKubeconfig(cluster.client, { account, admin: stack.kubeconfig, file: kubeconfig });
  const [command = '', ...args] = containers[0].args;
  const here = ['--metrics-addr=0', `--leader-election-namespace=${namespace}`];
  return { account, operator: await startOperator({ kubeconfig, command, args: [...args, ...here] }) };
}

/** A Pod that gets its label, a binding, and a PodSet that gets its Pods, each under a name of its own. */
async function work({ team }: Installation): Promise<void> {
  const name = uniqueName();
  await cluster.create(PODS, aPod().in(team).named(name).annotated().manifest);
  await cluster.create(PodSetKind, { ...aPodSet().wanting(2).object, metadata: { name, namespace: team } });
  await eventually(async () => {
    const pod = await cluster.get({ type: PODS, namespace: team, name });
    return pod?.metadata.labels?.[POD_NAME_LABEL] === name;
  }, WITHIN_MS);
  await eventually(async () => {
    const set = await cluster.get<PodSet>({ type: PodSetKind, namespace: team, name });
    return set?.status?.readyReplicas === 2;
  }, WITHIN_MS);
  const binding = { type: ROLE_BINDINGS, namespace: team, name: `ad-kubernetes-${team}` };
  await eventually(() => cluster.get(binding), WITHIN_MS);
  await cluster.delete(binding);
  await eventually(() => cluster.get(binding), WITHIN_MS);
}

/** What it was denied, and where it asked for anything. */
function noticed({ account }: Installation) {
  const calls = apiCallsOf(userNameOf(account), stack.auditLog)
    // It asks which cluster it is in, and may not know.
    .filter(({ objectRef }) => objectRef?.name !== 'kube-system');
  const denied = calls.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0));
  const namespaces = new Set(calls.map(({ objectRef }) => objectRef?.namespace));
  return { denied, namespaces: [...namespaces].filter((each) => each !== undefined && each !== '').sort() };
}

describe('three operators in one cluster', () => {
  it('each work for their own team', async () => {
    await Promise.all(installations.map(work));
  });

  it('have nothing in common but the CustomResourceDefinitions', () => {
    const names = installations.flatMap(({ objects }) =>
      objects
        .filter(({ kind }) => kind !== 'CustomResourceDefinition')
        .map(({ kind, metadata: { namespace = '', name } }) => `${kind} ${namespace}/${name}`),
    );
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('have their runs on task queues of their own', async () => {
    for (const { team, name } of installations) {
      const queues = new Set<string>();
      const query = `ResourceNamespace = '${team}'`;
      for await (const { taskQueue } of temporal.client.workflow.list({ query })) queues.add(taskQueue);
      expect([...queues]).toEqual([`${name}-durable-operator`]);
    }
  });

  it.each([0, 1])('can be taken away: number %i, and the others never notice', async (index) => {
    const going = installations[index];
    if (going === undefined) throw new Error('there are three of them');
    const staying = installations.slice(index + 1);
    await takeAway(going);
    await Promise.all(staying.map(work));
    for (const each of staying) {
      expect(noticed(each)).toEqual({ denied: [], namespaces: [each.namespace, each.team].sort() });
      expect((await each.operator.readiness()).status).toBe(200);
    }
  });

  it('are not uninstalled by Helm while the check fails', async () => {
    const last = installations[2];
    if (last === undefined) throw new Error('there are three of them');
    // The simulated node lets such a Pod of a Job fail.
    await helmUpgrade(last, [...valuesFor(last.team), 'env[0].name=CHECK', 'env[0].value=exit 1']);
    await expect(last.uninstall()).rejects.toThrow(/uninstall-check not ready.*Job Failed/s);
    await work(last);
  });
});

/** In the order of docs/uninstalling.md. */
async function takeAway(going: Installation): Promise<void> {
  const { name, namespace, objects, operator, uninstall } = going;
  const job = objects.find((object) => hookOf(object) === 'pre-delete');
  const args = job && PodTemplate.parse(job).spec.template.spec.containers[0].args;
  const kubeconfig = join(dir, `${namespace}.kubeconfig`);
  const check = args ?? ['uninstall-check', '--end-settings-run', '--task-queue', `${name}-durable-operator`];
  await eventually(async () => {
    expect(await ask(check, { kubeconfig })).toMatchObject({ status: 0, stderr: '' });
    return true;
  }, WITHIN_MS);
  await operator.end('SIGTERM');
  await uninstall();
  const lists = 'clusterroles,clusterrolebindings,roles,rolebindings,deployments,services,networkpolicies';
  const policies = 'validatingadmissionpolicies,validatingadmissionpolicybindings';
  const left = await kubectl('get', `${lists},${policies}`, '--all-namespaces', '--output=name');
  expect(left.split('\n').filter((each) => each.includes(name))).toEqual([]);
}

function kubectl(...args: readonly string[]): Promise<string> {
  return run(stack.kubectl, ['--kubeconfig', stack.kubeconfig, ...args]);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args]);
  return stdout;
}
