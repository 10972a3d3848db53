import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { bounded } from '../src/temporal/bounded.ts';
import { defaultOptions } from '../src/config/config.ts';
import { textsToPublish } from '../src/config/published.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { PodSetKind } from '../src/controllers/pod-set/kind.ts';
import { POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { durableOperator } from '../src/controllers/index.ts';
import { registerSearchAttributes } from '../src/temporal/registration.ts';
import { publishSettings } from '../src/temporal/settings-run.ts';
import { startOptionsFor } from '../src/temporal/runs.ts';
import { NativeConnection } from '@temporalio/worker';
import { build, PROGRAM } from '../test/support/built.ts';
import { PODS, refOf, TestCluster } from '../test/support/cluster.ts';
import { startInstalledStack } from '../test/support/installed-stack.ts';
import { aPodSet } from '../test/support/pod-sets.ts';
import { aPod } from '../test/support/pods.ts';

/*
 * How long `get -A`, `why -A` and `why` take with so many resources and open runs, and how much CPU of their own. No operator runs:
 * what is asked is what there is, not how it works.
 */

const { values } = parseArgs({
  options: {
    resources: { type: 'string', default: '10000' },
    runs: { type: 'string', default: '500' },
    times: { type: 'string', default: '5' },
  },
});
const [resources, runs, times] = [values.resources, values.runs, values.times].map(Number);
if (resources === undefined || runs === undefined || times === undefined) throw new Error('three numbers');

const AT_ONCE = 50;
const QUEUE = 'bench-ask';
const run = promisify(execFile);
const say = (line: string) => process.stderr.write(`${line}\n`);

/** With 1, where something is not up to date. */
const Failed = z.object({ code: z.literal(1), stdout: z.string(), stderr: z.string() });

const Cpu = z.object({ user: z.number(), system: z.number() });
/** Has a command say last how much CPU it took, in microseconds. */
const SAY_CPU =
  '--import=data:text/javascript,process.on("exit",()=>process.stderr.write("\\n"+JSON.stringify(process.cpuUsage())))';

await build();
const stack = await startInstalledStack(say);
const cluster = new TestCluster(stack.kubeconfig);
try {
  const namespace = await cluster.aNamespace();
  say(`creating ${resources} resources`);
  const half = Math.floor(resources / 2);
  const indices = Array.from({ length: half }, (_, index) => index);
  await bounded(indices, AT_ONCE, (index) => {
    const name = `web-${index}`;
    const pod = aPod()
      .in(namespace)
      .named(name)
      .annotated()
      .labelled({ [POD_NAME_LABEL]: name });
    return cluster.create(PODS, pod.manifest);
  });
  const podSets = await bounded(indices, AT_ONCE, (index) =>
    cluster.create(PodSetKind, aPodSet().in(namespace).named(`set-${index}`).wanting(0).manifest),
  );
  say(`starting ${runs} runs`);
  await startRuns(podSets.slice(0, runs));
  for (const args of [
    ['get', '-A'],
    ['get', 'podset', '-A', '--state', 'reconciling'],
    ['why', '-A'],
    ['why', 'podset/set-0', '-n', namespace],
    ['why', `podset/set-${half - 1}`, '-n', namespace],
  ]) {
    const took: Took[] = [];
    for (let i = 0; i < times; i += 1) took.push(await measure(args));
    const sorted = (of: (each: Took) => number) =>
      took
        .map((each) => Math.round(of(each)))
        .toSorted((a, b) => a - b)
        .join(', ');
    console.log(`${args.slice(0, 2).join(' ')}: ${sorted(({ ms }) => ms)} ms`);
    console.log(
      `  CPU ${sorted(({ cpuMs }) => cpuMs)} ms; load of the machine ${loadavg()[0]?.toFixed(1) ?? ''}`,
    );
  }
} finally {
  await cluster.close();
  await stack.stop();
}

async function startRuns(objects: readonly KubernetesObject[]): Promise<void> {
  const native = await NativeConnection.connect({ address: stack.temporalAddress });
  await registerSearchAttributes(native, 'default');
  await native.close();
  const connection = await Connection.connect({ address: stack.temporalAddress });
  const client = new Client({ connection });
  await publishSettings(client, {
    taskQueue: QUEUE,
    texts: textsToPublish(durableOperator, defaultOptions(durableOperator), {
      version: 'bench',
      clusterUid: undefined,
    }),
    check: () => undefined,
  });
  await bounded(objects, AT_ONCE, async (object) => {
    const ref = refOf('pod-set', object);
    await client.workflow.start('podSet', {
      ...startOptionsFor({ ref, taskQueue: QUEUE, summary: 'a run' }),
      args: [{ ref, reason: 'bench', first: { do: 'observe', because: 'bench' } }],
    });
  });
  await connection.close();
}

interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

async function measure(args: readonly string[]): Promise<Took> {
  const plugin = join(dirname(PROGRAM), 'ask/main.js');
  const env = {
    ...process.env,
    KUBECONFIG: stack.kubeconfig,
    TEMPORAL_ADDRESS: stack.temporalAddress,
  };
  const began = performance.now();
  const options = { env, maxBuffer: 64 * 1024 * 1024 };
  const command = [SAY_CPU, plugin, ...args, '--task-queue', QUEUE];
  const { stdout, stderr } = await run(process.execPath, command, options).catch((error: unknown) =>
    Failed.parse(error),
  );
  const ms = performance.now() - began;
  if (stdout.length < 100) throw new Error(`${args.join(' ')} answered ${stdout}`);
  const { user, system } = Cpu.parse(JSON.parse(stderr.trim().split('\n').at(-1) ?? ''));
  return { ms, cpuMs: (user + system) / 1_000 };
}
