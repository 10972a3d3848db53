import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { Author } from '../support/author.ts';

jest.setTimeout(300_000);

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

const BROKEN = `
import { explore } from 'durable-operator/testing';
import { bucket } from './bucket.ts';

const outside = { ids: [] as string[], fetch({ method }: { method: string }) {
  if (method === 'PUT') this.ids = ['one'];
  return this.ids.length === 0 ? { status: 404 } : { status: 200, body: { versioned: false, url: '' } };
} };
const decide: typeof bucket.decide = (facts, next) =>
  facts.resource.isBeingDeleted ? next.released('it is over') : bucket.decide!(facts, next);
await explore({ ...bucket, decide }, { resource: { spec: {} }, outside }).catch((error: Error) => {
  console.log(error.message);
  process.exitCode = 1;
});
`;
