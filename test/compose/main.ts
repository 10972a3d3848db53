import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { freePort } from '../../local/ports.ts';
import { eventually } from '../support/eventually.ts';
import { basesByName, makeImages } from './images.ts';
import { Project } from './project.ts';

interface Options {
  readonly docker: string;
  readonly images?: true;
  readonly keep?: true;
}

const CONTROLLERS = ['git-build', 'namespace-role-binding', 'pod-label', 'pod-set'];
const WITHIN_MS = 300_000;
const BASE = 'docker-compose.yml';
const OWN_CLUSTER = 'docker-compose.own-cluster.yml';

const SLOW_BUILD = {
  apiVersion: 'test.inspur.com/v1alpha1',
  kind: 'Xxx',
  metadata: { name: 'slow', namespace: 'default' },
  spec: {
    gitUrl: 'https://github.com/kelseyhightower/helloworld.git',
    clonePath: '/root/go/src/helloworld',
    buildCommand: 'sleep infinity',
    binaryName: 'slow',
    jobName: 'build-slow',
  },
};

const { docker, images, keep } = new Command('compose')
  .description('Starts docker-compose.yml as a newcomer does, and checks what that page promises.')
  .option('--docker <program>', 'the docker CLI', 'docker')
  .option('--images', 'first make stand-ins for the published images, where they cannot be pulled')
  .option('--keep', 'leave it running at the end')
  .parse()
  .opts<Options>();

const folder = await mkdtemp(join(tmpdir(), 'durable-operator-compose-'));
const bases = images === undefined ? {} : await basesByName();
const whole = await aProject('durable-operator-tried', [BASE]);
try {
  if (images !== undefined) await makeImages(docker);
  await startsAndConverges(whole);
  await keepsItsDataOver(whole);
  await isUpgradedInMidBuild(whole);
  await worksWithOwnCluster(whole);
  console.log('\nall of it is as promised');
} finally {
  if (keep === undefined) await whole.down('--volumes');
  await rm(folder, { recursive: true });
}

async function aProject(name: string, files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const names = ['PORT_KUBERNETES', 'PORT_TEMPORAL', 'PORT_TEMPORAL_UI', 'PORT_METRICS', 'PORT_HEALTH'];
  const ports: [string, string][] = [];
  for (const port of names) ports.push([port, String(await freePort())]);
  return new Project({ docker, name, files, env: { ...Object.fromEntries(ports), ...bases, ...env } });
}

async function startsAndConverges(project: Project): Promise<void> {
  heading('up: the samples converge, and it says what to do next');
  const said = await project.up({ REVISION: 'first' });
  console.log(said);
  assert.match(said, new RegExp(`http://localhost:${project.options.env['PORT_TEMPORAL_UI'] ?? ''}`));
  console.log(await project.exec('operator', 'node', 'dist/src/ask/main.js', 'get', '--all-namespaces'));
  assert.match(
    await project.kubectl('get', 'pod', 'my-nginx', '--show-labels'),
    /padok\.fr\/pod-name=my-nginx/,
  );
  assert.match(await project.metrics(), /^workqueue_depth/m);
  const seen = new Set((await project.runs()).map(({ workflowId }) => workflowId.split('/')[0]));
  assert.deepEqual(
    CONTROLLERS.filter((name) => !seen.has(name)),
    [],
  );
}

async function keepsItsDataOver(project: Project): Promise<void> {
  heading('down and up: the same nodes, Pods and runs');
  const before = { cluster: await clusterOf(project), runs: await project.runs() };
  await project.down();
  await project.up({ REVISION: 'first' });
  assert.deepEqual(await clusterOf(project), before.cluster);
  const after = new Set((await project.runs()).map(({ runId }) => runId));
  assert.deepEqual(
    before.runs.filter(({ runId }) => !after.has(runId)),
    [],
  );
}

/** The nodes, and the Pods of the samples. */
function clusterOf(project: Project): Promise<string> {
  return project.kubectl(
    'get',
    'nodes,pods',
    '--output=jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.spec.nodeName}{"\\n"}{end}',
  );
}

async function isUpgradedInMidBuild(project: Project): Promise<void> {
  heading('a new image in the middle of a build: its run goes on');
  await project.apply(SLOW_BUILD);
  const running = () =>
    project.runs('Controller="git-build" AND ResourceName="slow" AND ExecutionStatus="Running"');
  const [before] = await eventually(async () => nonEmpty(await running()), WITHIN_MS);
  const job = await eventually(
    () => nonEmpty(project.kubectl('get', 'job', 'build-slow', '--output=jsonpath={.metadata.uid}')),
    WITHIN_MS,
  );

  await project.replaceOperator({ REVISION: 'second' });
  const label = '{{index .Config.Labels "org.opencontainers.image.revision"}}';
  assert.equal(await project.inspect('operator', label), 'second');
  assert.deepEqual(await running(), [before]);
  assert.equal(await project.kubectl('get', 'job', 'build-slow', '--output=jsonpath={.metadata.uid}'), job);

  await project.apply({ ...SLOW_BUILD, spec: { ...SLOW_BUILD.spec, buildCommand: 'go build' } });
  await project.kubectl('wait', '--for=condition=Ready', '--timeout=5m', 'xxx/slow');
  await project.kubectl('delete', 'xxx', 'slow', '--timeout=5m');
  await eventually(async () => (await running()).length === 0, WITHIN_MS);
}

async function worksWithOwnCluster(project: Project): Promise<void> {
  heading('another project with its own Temporal, and this cluster as a cluster of your own');
  const kubeconfig = await project.writeKubeconfig(join(folder, 'kubeconfig'));
  await project.stop('operator');
  await project.kubectl('label', 'pod', 'my-nginx', 'padok.fr/pod-name-');
  const env = {
    KUBECONFIG: kubeconfig,
    OPERATOR_USER: `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
  };
  const own = await aProject('durable-operator-own-cluster', [BASE, OWN_CLUSTER], env);
  try {
    console.log(await own.up());
    await eventually(async () => {
      const labels = await project.kubectl('get', 'pod', 'my-nginx', '--show-labels');
      return labels.includes('padok.fr/pod-name=my-nginx');
    }, WITHIN_MS);
  } finally {
    await own.down('--volumes');
  }
}

function heading(text: string): void {
  console.log(`\n== ${text}`);
}

async function nonEmpty<T extends string | readonly unknown[]>(
  found: T | Promise<T>,
): Promise<T | undefined> {
  const value = await found;
  return value.length === 0 ? undefined : value;
}
