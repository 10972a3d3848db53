import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { freePort } from '../../local/ports.ts';
import { outputOf } from '../../local/program-output.ts';
import { ROOT } from '../../local/root.ts';
import { eventually } from '../../testing/eventually.ts';
import { run } from './command.ts';
import { makeStandIns } from './stand-ins.ts';

/*
 * Starts docker-compose.yml as people do, and checks what docs/docker-compose.md promises: `npm run test:compose`. With
 * `-- --stand-ins`, it first makes images in place of those that cannot be pulled.
 */

const WITHIN_MS = 600_000;

/** As the UI asks for them. */
const Run = z.object({ execution: z.object({ workflowId: z.string(), runId: z.string() }) });
const Runs = z.object({ executions: z.array(Run).default([]) });

const { values } = parseArgs({ options: { 'stand-ins': { type: 'boolean', default: false } } });
const { outcome, output } = await outputOf('docker', ['compose', 'ls']);
if (outcome !== 'succeeded') {
  console.error(`Install Docker with Docker Compose 2.24.4 or later, and start it. ${output}`);
  process.exit(1);
}
const env: Record<string, string> = {
  COMPOSE_FILE: join(ROOT, 'docker-compose.yml'),
  COMPOSE_PROJECT_NAME: 'durable-operator-test',
  ...(values['stand-ins'] ? await makeStandIns() : {}),
};
// First, because it takes minutes, in which another process could take a free port.
await compose('build');
for (const name of ['PORT_KUBERNETES', 'PORT_TEMPORAL', 'PORT_TEMPORAL_UI', 'PORT_METRICS']) {
  env[name] = String(await freePort());
}

try {
  await followsTheNextSteps(await comesUp());
  await keepsItsDataOver();
  await isReplacedInMidBuild();
} catch (error) {
  // Without the names, those with `attach: false` are left out.
  const services = (await compose('config', '--services')).split('\n');
  console.log(await compose('logs', '--no-color', '--tail=50', ...services));
  throw error;
} finally {
  await compose('down', '--volumes');
}

function docker(...args: readonly string[]): Promise<string> {
  return run(['docker', ...args], { env });
}

function compose(...args: readonly string[]): Promise<string> {
  return docker('compose', ...args);
}

function kubectl(...args: readonly string[]): Promise<string> {
  return compose('exec', '--no-TTY', 'kubernetes', 'kubectl', ...args);
}

/** @returns the page that it ends with */
async function comesUp(): Promise<string> {
  console.log('== up, until the samples have converged');
  await compose('up', '--detach');
  const last = await compose('ps', '--all', '--quiet', 'next-steps');
  assert.equal(await docker('wait', last), '0');
  await run(['docker', 'compose', 'exec', '--no-TTY', 'kubernetes', 'sh', '-s'], {
    env,
    input: await readFile(join(ROOT, '.ci/samples-converge.sh'), 'utf8'),
  });
  return docker('logs', last);
}

async function followsTheNextSteps(page: string): Promise<void> {
  console.log(page);
  const cwd = await mkdtemp(join(tmpdir(), 'durable-operator-compose-'));
  try {
    const commands = page.split('\n').filter((line) => line.startsWith('  docker compose exec '));
    const said = await run(['sh', '-eux', '-c', commands.join('\n')], { cwd, env });
    console.log(said);
    assert.match(said, /padok\.fr\/pod-name=my-nginx/);
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(join(cwd, 'durable-operator.kubeconfig'));
    const { items } = await kubeConfig.makeApiClient(CoreV1Api).listNode();
    assert.deepEqual(
      items.map(({ metadata }) => metadata?.name),
      ['k3s'],
    );
  } finally {
    await rm(cwd, { recursive: true });
  }
  const metrics = await fetch(/http:\S+metrics/.exec(page)?.[0] ?? '');
  assert.match(await metrics.text(), /^workqueue_depth/m);
  const controllers = new Set((await runs()).map(({ workflowId }) => workflowId.split('/')[0]));
  for (const name of ['git-build', 'namespace-role-binding', 'pod-label', 'pod-set'])
    assert(controllers.has(name));
}

async function keepsItsDataOver(): Promise<void> {
  console.log('== down and up: the same node, Pods and runs');
  const before = { objects: await objects(), runs: await runs() };
  await compose('down');
  await comesUp();
  assert.deepEqual(await objects(), before.objects);
  const after = (await runs()).map(({ runId }) => runId);
  assert.deepEqual(
    before.runs.filter(({ runId }) => !after.includes(runId)),
    [],
  );
}

async function isReplacedInMidBuild(): Promise<void> {
  console.log('== a new image in the middle of a build: its run goes on');
  await buildBy('sleep infinity');
  const job = await eventually(async () => /^\S+ 1$/.exec(await jobAndActivePods())?.[0], WITHIN_MS);
  const open = () => runs('Controller="git-build" AND ExecutionStatus="Running"');
  const { runId } = await eventually(async () => (await open())[0], WITHIN_MS);

  env['REVISION'] = 'second';
  await compose('up', '--detach', '--no-deps', 'operator');
  const revision = '{{index .Config.Labels "org.opencontainers.image.revision"}}';
  const operator = await compose('ps', '--quiet', 'operator');
  assert.equal(await docker('inspect', '--format', revision, operator), 'second');
  await kubectl('annotate', 'xxx/xxx-sample', 'durable-operator.dev/reconcile-requested-at=second');
  await kubectl(
    'wait',
    '--for=jsonpath={.status.lastHandledReconcileAt}=second',
    '--timeout=10m',
    'xxx/xxx-sample',
  );
  assert.equal(await jobAndActivePods(), job);

  await buildBy('go build');
  await kubectl('wait', '--for=condition=Ready', '--timeout=10m', 'xxx/xxx-sample');
  const completed = () => runs(`RunId="${runId}" AND ExecutionStatus="Completed"`);
  await eventually(async () => (await completed()).length > 0, WITHIN_MS);
}

function buildBy(buildCommand: string): Promise<string> {
  const patch = JSON.stringify({ spec: { buildCommand } });
  return kubectl('patch', 'xxx/xxx-sample', '--type=merge', `--patch=${patch}`);
}

function jobAndActivePods(): Promise<string> {
  const format = '--output=jsonpath={.metadata.uid} {.status.active}';
  return kubectl('get', 'job/build-helloworld', '--ignore-not-found', format);
}

function objects(): Promise<string> {
  const format = '--output=jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid}{"\\n"}{end}';
  return kubectl('get', 'nodes,pods,jobs', format);
}

async function runs(query = '') {
  const url = `http://127.0.0.1:${env['PORT_TEMPORAL_UI']}/api/v1/namespaces/default/workflows`;
  const answer = await fetch(`${url}?query=${encodeURIComponent(query)}`);
  const { executions } = Runs.parse(await answer.json());
  return executions.map(({ execution }) => execution);
}
