import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { applyManifest, readManifests } from '../../local/manifests.ts';
import { fieldsOf, listOf } from '../../src/controllers/fields.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { eventually } from '../support/eventually.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/build-your-own.md');
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
const BUCKETS = { group: 'example.com', version: 'v1', plural: 'buckets' };
const WITHIN_MS = 60_000;
const run = promisify(execFile);
const { stack, cluster } = setUpStage(async () => {
  store.stop();
  await rm(directory, { recursive: true });
  await cluster.delete({ type: CRDS, name: 'buckets.example.com' });
});
const taskQueue = aTaskQueue();

/** The store of the page: it can be told to fail. */
class Store {
  readonly buckets = new Map<string, object>();
  readonly keys: unknown[] = [];
  mode: 'ok' | 'down' | 'refuses' = 'ok';
  readonly #server = createServer((request, response) => {
    void this.#answer(request).then(({ status, body }) => {
      if (this.mode === 'down') response.destroy();
      else response.writeHead(status).end(JSON.stringify(body));
    });
  });

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: object }> {
    const id = request.url?.slice(1) ?? '';
    const sent = await text(request);
    if (this.mode === 'refuses') return { status: 403, body: {} };
    if (request.method === 'DELETE') this.buckets.delete(id);
    if (request.method === 'PUT') {
      const { idempotencyKey, ...bucket } = fieldsOf(JSON.parse(sent));
      if (idempotencyKey !== undefined) this.keys.push(idempotencyKey);
      this.buckets.set(id, { ...this.buckets.get(id), ...bucket, url: `store://${id}` });
    }
    const bucket = this.buckets.get(id);
    return bucket === undefined ? { status: 404, body: {} } : { status: 200, body: bucket };
  }
}

const store = new Store();
let directory: string;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'durable-operator-author-'));
  await install();
  const page = await readFile(PAGE, 'utf8');
  for (const [, path = '', code = ''] of page.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs))
    await write(path, code);
  const { stdout } = await run(process.execPath, ['src/crd.ts'], { cwd: directory });
  await write('crd/bucket.yaml', stdout);
  for (const crd of await readManifests(join(directory, 'crd')))
    await applyManifest(cluster.client, crd, 'author');
  const path = resourcePath(BUCKETS, {});
  await eventually(
    () =>
      cluster.client.request({ method: 'GET', path }).then(
        () => true,
        () => false,
      ),
    WITHIN_MS,
  );
  namespace = await cluster.aNamespace();
  operator = await startAuthors(await store.start());
});

/** The packed package, and beside it what it depends on, as npm would install it. */
async function install(): Promise<void> {
  await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: ROOT });
  const [archive = ''] = (await readdir(directory)).filter((name) => name.endsWith('.tgz'));
  const modules = join(directory, 'node_modules');
  await mkdir(join(modules, 'durable-operator'), { recursive: true });
  await run('tar', [
    '-xzf',
    join(directory, archive),
    '--strip-components=1',
    '-C',
    join(modules, 'durable-operator'),
  ]);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== 'durable-operator') await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await write('package.json', JSON.stringify({ name: 'bucket-operator', type: 'module', private: true }));
}

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(directory, path)), { recursive: true });
  await writeFile(join(directory, path), content);
}

async function startAuthors(STORE_URL: string): Promise<Operator> {
  const started = await startOperator({
    kubeconfig: stack.kubeconfig,
    taskQueue,
    program: join(directory, 'src/main.ts'),
    env: { STORE_URL },
  });
  process.env['STORE_URL'] = STORE_URL;
  return started;
}

async function ask(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: stack.kubeconfig, TEMPORAL_ADDRESS: stack.temporalAddress };
  const asked = ['src/main.ts', ...args, '-n', namespace, '--task-queue', taskQueue];
  // The exit code says whether all is well.
  return run(process.execPath, asked, { cwd: directory, env }).then(
    ({ stdout }) => stdout,
    (error: unknown) => String(fieldsOf(error)['stdout']),
  );
}

const at = { type: BUCKETS, name: 'photos' };

function readyIn(object: unknown): unknown {
  const conditions = listOf(fieldsOf(fieldsOf(object)['status'])['conditions']);
  return conditions.find(({ type }) => type === 'Ready')?.['status'];
}

/** Ready, and of this generation: its run has ended, or is about to. */
function isUpToDate(object: KubernetesObject | undefined): boolean {
  const { observedGeneration } = fieldsOf(object?.['status']);
  return readyIn(object) === 'True' && observedGeneration === object?.metadata.generation;
}

function stored(): object[] {
  return [...store.buckets.values()];
}

describe('an operator as docs/build-your-own.md has it, on the packed package', () => {
  it('compiles', async () => {
    const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', skipLibCheck: true };
    const compilerOptions = { ...options, allowImportingTsExtensions: true, types: ['node'] };
    await write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['src'] }));
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', directory]);
  });

  it('comes from a package whose exports and types resolve', async () => {
    const [archive = ''] = (await readdir(directory)).filter((name) => name.endsWith('.tgz'));
    const tool = (script: string, ...args: readonly string[]) =>
      run(process.execPath, [join(ROOT, 'node_modules', script), ...args], { cwd: directory });
    await tool('publint/src/cli.js', 'run', archive, '--level', 'error');
    await tool('@arethetypeswrong/cli/dist/index.js', archive, '--profile', 'esm-only');
  });

  it('makes what a resource asks for, and says what it did', async () => {
    await cluster.create(BUCKETS, {
      ...{ apiVersion: 'example.com/v1', kind: 'Bucket' },
      metadata: {
        ...{ name: 'photos', namespace },
        annotations: { 'durable-operator.dev/poll-interval': '10s' },
      },
      spec: {},
    });
    await eventually(async () => readyIn(await cluster.get({ ...at, namespace })) === 'True', WITHIN_MS);
    expect(stored()).toEqual([{ versioned: false, url: expect.stringMatching(/^store:/) }]);
    expect(await cluster.get({ ...at, namespace })).toMatchObject({ status: { url: expect.any(String) } });
    const steps = /addFinalizer .*added the finalizer[^]*provision .*created the bucket[^]*updateStatus/;
    expect(await ask('history', 'bucket/photos')).toMatch(steps);
    expect(await ask('why', 'bucket/photos')).toContain('is up to date');
  });

  it('plans a change without making it', async () => {
    await write(
      'photos.yaml',
      'apiVersion: example.com/v1\nkind: Bucket\nmetadata: {name: photos}\nspec: {versioned: true}\n',
    );
    expect(await ask('plan', '-f', 'photos.yaml')).toMatch(/setVersioning: .*; a plan cannot try it/);
    expect(stored()).toMatchObject([{ versioned: false }]);
  });

  it('makes a change with the data of the decision', async () => {
    await cluster.patch({ ...at, namespace }, { spec: { versioned: true } });
    await eventually(
      () => Promise.resolve(stored().some((each) => fieldsOf(each)['versioned'] === true)),
      WITHIN_MS,
    );
  });

  it('makes again what is lost without a watch that shows it', async () => {
    await eventually(async () => isUpToDate(await cluster.get({ ...at, namespace })), WITHIN_MS);
    store.buckets.clear();
    await eventually(() => Promise.resolve(stored().length === 1), WITHIN_MS);
    await eventually(async () => readyIn(await cluster.get({ ...at, namespace })) === 'True', WITHIN_MS);
  });

  it('says what the outside system refuses, with the advice of its author', async () => {
    store.mode = 'refuses';
    await cluster.patch({ ...at, namespace }, { spec: { versioned: false } });
    const refused = /Refused[^]*the store refuses it[^]*ask the owner of the store for more/;
    await eventually(async () => refused.test(await ask('why', 'bucket/photos')), WITHIN_MS);
  });

  it('removes it also if it is killed and the store is away when the resource is deleted', async () => {
    store.mode = 'down';
    await operator.end('SIGKILL');
    await cluster.delete({ ...at, namespace });
    operator = await startAuthors(process.env['STORE_URL'] ?? '');
    const away = /Unavailable[^]*the store does not answer/;
    await eventually(async () => away.test(await ask('why', 'bucket/photos')), WITHIN_MS);
    expect(stored()).toHaveLength(1);
    store.mode = 'ok';
    await eventually(async () => (await cluster.get({ ...at, namespace })) === undefined, WITHIN_MS);
    expect(stored()).toEqual([]);
    expect(new Set(store.keys).size).toBe(store.keys.length);
  });
});
