import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseConfig } from '../src/config/config.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { durableOperator } from '../src/controllers/index.ts';
import { runOperator } from '../src/program/running.ts';
import { createLogger } from '../src/observability/logging.ts';
import { PODS, uniqueName, type TestCluster } from '../test/support/cluster.ts';
import { aPod } from '../test/support/pods.ts';
import { freshTarget, type Target } from './target.ts';

/*
 * How much code one label passes through: `npm run bench:trip` starts the operator in this process, has it label one Pod, and
 * prints each source file of which a function ran meanwhile, and how often `decide` ran. Of the workflow's thread, whose code is
 * bundled, it counts the files of `workflows/` that the run needs.
 */

/** What runs by itself, at times: it has nothing to do with the label. */
const QUIET = ['--enable-leader-election=false', '--metrics-addr=0', '--log-level=error'];
const WORKFLOW_FILES = ['workflows/index.ts', 'workflows/reconcile.ts', 'workflows/changes.ts'];
/** The run ends, and the watch shows its write, well within that time. */
const SETTLE_MS = 2_000;
const root = fileURLToPath(new URL('..', import.meta.url));

async function main(): Promise<void> {
  const target = await freshTarget((message) => process.stderr.write(`${message}\n`));
  const ending = new AbortController();
  const running = operate(target, ending.signal);
  try {
    print(await tripOf(target.cluster));
  } finally {
    ending.abort();
    await running;
    await target.close();
  }
}

async function operate({ kubeconfig, temporalAddress }: Target, signal: AbortSignal): Promise<void> {
  const args = ['run', '--kubeconfig', kubeconfig, '--task-queue', uniqueName(), '--health-addr=0', ...QUIET];
  const parsed = await parseConfig(durableOperator, args, {
    ...process.env,
    TEMPORAL_ADDRESS: temporalAddress,
  });
  if (parsed.kind === 'exit') throw new Error(parsed.output);
  await runOperator({
    program: durableOperator,
    config: parsed.config,
    log: createLogger(parsed.config.log),
    signal,
  });
}

interface Trip {
  readonly files: readonly string[];
  readonly decisions: number;
}

/** The second label counts: what happens once alone, such as a first connection, belongs to the first. */
async function tripOf(cluster: TestCluster): Promise<Trip> {
  const namespace = await cluster.aNamespace();
  for (const name of ['first', 'second'])
    await cluster.create(PODS, aPod().in(namespace).named(name).manifest);
  await label(cluster, namespace, 'first');
  await pause(SETTLE_MS);
  const scripts = await coverageOf(async () => {
    await label(cluster, namespace, 'second');
    await pause(SETTLE_MS);
  });
  return tripIn(scripts);
}

/** Which functions of this thread ran during the work, and how often. */
async function coverageOf(work: () => Promise<void>) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  return result;
}

/** Asks for the label of one Pod, and waits for it. */
async function label(cluster: TestCluster, namespace: string, name: string): Promise<void> {
  const at = { type: PODS, namespace, name };
  await cluster.patch(at, { metadata: { annotations: { [POD_NAME_ANNOTATION]: 'true' } } });
  for (;;) {
    const pod = await cluster.get(at);
    if (pod?.metadata.labels?.[POD_NAME_LABEL] === name) return;
    await pause(50);
  }
}

type Coverage = Awaited<ReturnType<typeof coverageOf>>;

function tripIn(scripts: Coverage): Trip {
  const called = scripts.flatMap(({ url, functions }) => {
    const file = fileOf(url);
    // What begins with the script is the script itself.
    const ran = functions.filter(
      ({ ranges: [all] }) => all !== undefined && all.startOffset > 0 && all.count > 0,
    );
    return file === undefined || ran.length === 0 ? [] : [{ file, ran }];
  });
  const decide = called
    .filter(({ file }) => file === 'src/controllers/pod-label/controller.ts')
    .flatMap(({ ran }) => ran)
    .find(({ functionName }) => functionName === 'decide');
  const files = [...called.map(({ file }) => file), ...WORKFLOW_FILES].sort();
  return { files, decisions: decide?.ranges[0]?.count ?? 0 };
}

const OURS = /^(src|activities|workflows)\//;

/** Undefined where it is not a file of the operator. */
function fileOf(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  const path = relative(root, fileURLToPath(url));
  return OURS.test(path) ? path : undefined;
}

function print({ files, decisions }: Trip): void {
  process.stdout.write(`${files.join('\n')}\n\n${files.length} files, decide ran ${decisions} times\n`);
}

await main();
process.exit(0);
