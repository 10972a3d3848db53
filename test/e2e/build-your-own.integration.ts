import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Store } from '../../examples/bucket/store.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { refOf } from '../support/cluster.ts';
import { Author } from '../support/author.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Operator } from '../support/operator.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const ROOT = join(import.meta.dirname, '../..');
const BUCKETS = { group: 'example.com', version: 'v1', plural: 'buckets' };
const WITHIN_MS = 60_000;
const run = promisify(execFile);
const stage = setUpStage(async () => {
  store.server.close();
  store.server.closeAllConnections();
  await author.remove(stage);
});
const { cluster, temporal } = stage;

const store = new Store();
let author: Author;
let storeUrl: string;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  author = await Author.begin('bucket');
  await author.applyKinds(stage, 'src/crd.ts');
  namespace = await cluster.aNamespace();
  store.server.listen(0, '127.0.0.1');
  await once(store.server, 'listening');
  storeUrl = `http://127.0.0.1:${(store.server.address() as AddressInfo).port}`;
  operator = await author.start(stage, { STORE_URL: storeUrl, DURABLE_OPERATOR_MIN_POLL_INTERVAL: '10s' });
});

function ask(...args: readonly string[]): Promise<string> {
  return author.ask(stage, ...args, '-n', namespace);
}

const at = { type: BUCKETS, name: 'photos' };

const isReady = async () =>
  conditionIn(await cluster.get({ ...at, namespace }), 'Ready')['status'] === 'True';

/** Ready, and of this generation: its run has ended, or is about to. */
function isUpToDate(object: KubernetesObject | undefined): boolean {
  const { observedGeneration } = fieldsOf(object?.['status']);
  return (
    conditionIn(object, 'Ready')['status'] === 'True' && observedGeneration === object?.metadata.generation
  );
}

function stored(): object[] {
  return [...store.buckets.values()];
}

describe('the example bucket, as docs/build-your-own.md has it, on the packed package', () => {
  it('compiles', async () => {
    await author.compile();
  });

  it('comes from a package whose exports and types resolve', async () => {
    const archive = await author.archive();
    const tool = (script: string, ...args: readonly string[]) =>
      run(process.execPath, [join(ROOT, 'node_modules', script), ...args]);
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
    await eventually(async () => isReady(), WITHIN_MS);
    expect(stored()).toEqual([{ versioned: false, url: expect.stringMatching(/^store:/) }]);
    expect(await cluster.get({ ...at, namespace })).toMatchObject({ status: { url: expect.any(String) } });
    // A workflow task that has to be done again reports all of it with its first step.
    const done = /addFinalizer .*added the finalizer[^]*created the bucket[^]*updated the status/;
    expect(await ask('history', 'bucket/photos')).toMatch(done);
    expect(await ask('why', 'bucket/photos')).toContain('is up to date');
  });

  it('plans a change without making it', async () => {
    await author.write(
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

  it('is read at each poll, and no run is started where nothing is to be done', async () => {
    const photos = await eventually(async () => {
      const found = await cluster.get({ ...at, namespace });
      return isUpToDate(found) && found;
    }, WITHIN_MS);
    const ref = refOf('bucket', photos);
    await temporal.untilCompleted(ref, WITHIN_MS);
    const before = await temporal.runsOf(ref);
    let reads = 0;
    store.server.on('request', () => (reads += 1));
    // A run that the first one had started would be there by the second.
    await eventually(() => Promise.resolve(reads >= 2), WITHIN_MS);
    expect(await temporal.runsOf(ref)).toEqual(before);
  });

  it('makes again what is lost without a watch that shows it', async () => {
    await eventually(async () => isUpToDate(await cluster.get({ ...at, namespace })), WITHIN_MS);
    store.buckets.clear();
    await eventually(() => Promise.resolve(stored().length === 1), WITHIN_MS);
    await eventually(async () => isReady(), WITHIN_MS);
  });

  it('says what the outside system refuses, in the status and to who asks, with the advice of its author', async () => {
    store.mode = 'refuses';
    await cluster.patch({ ...at, namespace }, { spec: { versioned: false } });
    const refused = /Refused[^]*the store refuses it[^]*ask the owner of the store for more/;
    await eventually(async () => refused.test(await ask('why', 'bucket/photos')), WITHIN_MS);
    await eventually(async () => {
      const object = await cluster.get({ ...at, namespace });
      const { reason, message } = conditionIn(object, 'Ready');
      const { url } = fieldsOf(object?.['status']);
      return reason === 'ObserveFailed' && String(message).includes('ask the owner') && url;
    }, WITHIN_MS);
  });

  it('removes it also if it is killed and the store is away when the resource is deleted', async () => {
    store.mode = 'down';
    await operator.end('SIGKILL');
    await cluster.delete({ ...at, namespace });
    operator = await author.start(stage, { STORE_URL: storeUrl, DURABLE_OPERATOR_MIN_POLL_INTERVAL: '10s' });
    const away = /Unavailable[^]*the store does not answer/;
    await eventually(async () => away.test(await ask('why', 'bucket/photos')), WITHIN_MS);
    expect(stored()).toHaveLength(1);
    store.mode = 'ok';
    await eventually(async () => (await cluster.get({ ...at, namespace })) === undefined, WITHIN_MS);
    expect(stored()).toEqual([]);
    expect(new Set(store.keys).size).toBe(store.keys.length);
  });
});
