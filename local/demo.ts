import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { APPROVAL_ANNOTATION } from '../src/contract/control.ts';
import type { KubernetesList } from '../src/contract/object.ts';
import { PODS } from '../src/controllers/kinds.ts';
import { POD_SET_KIND } from '../src/controllers/pod-set/resource.ts';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import { loadKubeConfig } from '../src/kubernetes/config.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { buildPrograms } from './build.ts';
import { ADMIN } from './cluster-files.ts';
import { applyManifest } from './manifests.ts';
import { OPERATOR } from './operator.ts';
import { isListening } from './ports.ts';
import { ROOT } from './root.ts';
import { defaultDir, layoutOf, pidsIn } from './stack-folder.ts';

/*
 * Shows what the operator survives, on the local stack that `npm start` runs in another terminal: `npm run demo`. It
 * checks what it shows, and ends with status 1 if something is different.
 */

const SHOP = 'shop';
const WITHIN_MS = 90_000;
const INTERVAL_MS = 50;

const { values } = parseArgs({ options: { dir: { type: 'string', default: defaultDir() } } });
const layout = layoutOf(values.dir);
const kubeconfig = layout.kubeconfig(ADMIN);

async function main(): Promise<void> {
  if (!(await isListening({ path: layout.lock }))) {
    throw new Error(`no local stack is running in ${layout.dir}; run npm start first, in another terminal`);
  }
  const cluster = createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} }));
  try {
    await play(cluster);
    say('\nAll of this was checked.');
  } finally {
    await kubectl('delete', 'namespace', SHOP, '--ignore-not-found');
    await cluster.close();
  }
}

async function play(cluster: KubernetesClient): Promise<void> {
  say('\n1. A quota stops a PodSet');
  await applyManifest(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SHOP } }, 'demo');
  await kubectl('create', 'quota', 'pods', '--hard=pods=7');
  await kubectl('wait', 'quota/pods', '--for=jsonpath={.status.hard.pods}=7');
  await createPodSet(cluster, 'web', 10);
  await until('two attempts of createPods fail', async () => (await attemptOf('web')) >= 3);
  await durable('why', 'podset/web');
  check('7 of 10 Pods are there', (await podsOf(cluster, 'web')) === 7);

  say('\n2. The operator is killed during the backoff');
  const due = await attemptOf('web');
  await killOperator();
  await until('a new operator makes the next attempt', async () => {
    const attempt = await attemptOf('web');
    if (attempt > 0 && attempt < due)
      throw new Error(`it started over: attempt ${attempt} after attempt ${due}`);
    return attempt > due;
  });
  say(`✓ the new operator continued with attempt ${due}`);

  say('\n3. The quota is raised');
  await kubectl('delete', 'quota', 'pods');
  await untilReady('web', 10);
  await durable('why', 'podset/web');

  say('\n4. 300 Pods, and two kills');
  await createPodSet(cluster, 'cart', 300);
  for (const pods of [50, 150]) {
    await until(`${pods} Pods are there`, async () => (await podsOf(cluster, 'cart')) >= pods);
    await killOperator();
  }
  await untilReady('cart', 300);
  check('300 Pods are there, and no more', (await podsOf(cluster, 'cart')) === 300);

  say('\n5. A typo asks to delete 290 Pods');
  await kubectl('annotate', 'podset', 'cart', `${APPROVAL_ANNOTATION}=required`);
  await kubectl('scale', 'podset', 'cart', '--replicas=10');
  await kubectl('wait', 'podset/cart', '--for=condition=AwaitingApproval', '--timeout=90s');
  await durable('why', 'podset/cart');
  check('no Pod was deleted without an approval', (await podsOf(cluster, 'cart')) === 300);
  await kubectl('scale', 'podset', 'cart', '--replicas=310');
  await untilReady('cart', 310);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function check(rule: string, isSo: boolean): void {
  if (!isSo) throw new Error(`not true: ${rule}`);
  say(`✓ ${rule}`);
}

async function until(expected: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${WITHIN_MS / 1000} s: ${expected}`);
    await pause(INTERVAL_MS);
  }
  say(`✓ ${expected}`);
}

/** Runs kubectl in the namespace of the demonstration, and shows what it prints. */
async function kubectl(...args: readonly string[]): Promise<void> {
  const programs = await buildPrograms(['kubectl']);
  say(`$ kubectl ${args.join(' ')}`);
  say(await outputOf(programs.kubectl, [...args, '--namespace', SHOP]));
}

/** Asks the operator, and shows the answer. */
async function durable(...args: readonly string[]): Promise<void> {
  say(`$ kubectl durable ${args.join(' ')}`);
  say(await answerTo(args));
}

/** Its exit status is 1 if the resource is not in its desired state. */
function answerTo(args: readonly string[]): Promise<string> {
  const program = join(ROOT, 'dist/src/main.js');
  return outputOf(process.execPath, [program, ...args, '--namespace', SHOP], [0, 1]);
}

function outputOf(command: string, args: readonly string[], expected = [0]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { env }, (error, stdout, stderr) => {
      if (expected.includes(child.exitCode ?? -1)) resolve(stdout.trimEnd());
      else reject(new Error(`${command} ${args.join(' ')}: ${stderr}`, { cause: error }));
    });
  });
}

async function createPodSet(cluster: KubernetesClient, name: string, replicas: number): Promise<void> {
  const metadata = { name, namespace: SHOP };
  await applyManifest(cluster, { ...POD_SET_KIND, metadata, spec: { replicas } }, 'demo');
  say(`PodSet ${SHOP}/${name} wants ${replicas} Pods`);
}

async function podsOf(cluster: KubernetesClient, name: string): Promise<number> {
  const path = resourcePath(PODS, { namespace: SHOP });
  const query = { labelSelector: `app=${name}` };
  const { items } = await cluster.request<KubernetesList>({
    method: 'GET',
    path,
    query,
    metadataOnly: 'list',
  });
  return items?.length ?? 0;
}

/** The attempt that Temporal makes next, or now; 0 if nothing has failed. */
async function attemptOf(name: string): Promise<number> {
  const answer = await answerTo(['get', `podset/${name}`, '-o', 'json']);
  const rows = JSON.parse(answer) as readonly { readonly step?: string; readonly attempt?: number }[];
  return rows.find(({ step }) => step === 'createPods')?.attempt ?? 0;
}

async function untilReady(name: string, replicas: number): Promise<void> {
  const ready = `--for=jsonpath={.status.readyReplicas}=${replicas}`;
  await kubectl('wait', `podset/${name}`, ready, '--timeout=90s');
}

/** By `kill -9`. The local stack starts it again. */
async function killOperator(): Promise<void> {
  const { [OPERATOR]: pid } = await pidsIn(layout);
  if (pid === undefined) throw new Error('the operator is not running');
  say(`$ kill -9 ${pid}`);
  process.kill(pid, 'SIGKILL');
  await until('the operator is started again', async () => {
    const { [OPERATOR]: next } = await pidsIn(layout);
    return next !== undefined && next !== pid;
  });
}

try {
  await main();
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
