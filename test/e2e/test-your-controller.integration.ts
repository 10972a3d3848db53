import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { Author } from '../support/author.ts';

jest.setTimeout(900_000);

let author: Author;

beforeAll(async () => {
  author = await Author.begin('bucket');
});

afterAll(() => rm(author.directory, { recursive: true }));

/** docs/test-your-controller.md shows this test: test/docs.test.ts. */
describe('the test of the example bucket, on the packed package', () => {
  it('compiles', () => author.compile());

  it('passes', async () => {
    expect(await author.node('--test', 'test/bucket.test.ts')).toMatch(/pass 3\n/);
  });

  it('fails where the controller lets go of its finalizer too early, and says so', async () => {
    await author.write('src/broken.ts', BROKEN);
    await expect(author.node('src/broken.ts')).rejects.toThrow('the finalizer goes too early');
  });
});

/** Each starts one more stack, in a process of its own. */
describe.each(['bucket', 'website', 'service-dns', 'dns-record', 'database'])(
  'the test of the example %s on real servers',
  (example) => {
    it('passes, and says what is wrong where something is', async () => {
      const author = await Author.begin(example);
      try {
        await author.node('src/main.ts', 'generate');
        if (example === 'bucket') await author.write('test/told.stack.ts', TOLD);
        // Its story with kills takes four minutes: `npm run test:stack` in the example.
        const only = example === 'database' ? ['--test-name-pattern=it says'] : [];
        const said = await author.node('--test', '--test-isolation=none', ...only, 'test/*.stack.ts');
        expect(said).toMatch(/fail 0\n/);
      } finally {
        await rm(author.directory, { recursive: true });
      }
    });
  },
);

const TOLD = `
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isReady, stack } from 'durable-operator/testing';

const servers = await stack();
after(() => servers.stop());
const env = { STORE_URL: 'http://127.0.0.1:1' };

test('killAfterEveryWrite says after which write the story fails', async () => {
  const story = async (namespace: string) => {
    const bucket = await servers.applySample('samples/bucket.yaml', namespace);
    await servers.until(bucket, isReady, 10);
  };
  const operator = await servers.operator({ env });
  await assert.rejects(servers.killAfterEveryWrite(story, { env }), /another operator .* stop it first/);
  await operator.stop();
  await assert.rejects(
    servers.killAfterEveryWrite(story, { env }),
    /killed after write 1, patch buckets.photos.status: Bucket .*photos is not as it should be after 10 s: .*ObserveFailed/,
  );
});
`;

const BROKEN = `
import { explore } from 'durable-operator/testing';
import { bucket } from './bucket.ts';

const outside = { ids: [] as string[], fetch({ method }: { method: string }) {
  if (method === 'PUT') this.ids = ['one'];
  return this.ids.length === 0 ? { status: 404 } : { status: 200, body: { versioned: false, url: '' } };
} };
const decide: typeof bucket.decide = (facts, next) =>
  facts.resource.isBeingDeleted ? next.removeFinalizer('it is over') : bucket.decide!(facts, next);
await explore({ ...bucket, decide }, { resource: { spec: {} }, outside }).catch((error: Error) => {
  console.log(error.message);
  process.exitCode = 1;
});
`;
