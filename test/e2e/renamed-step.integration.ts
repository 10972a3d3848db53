import { expect, it, jest } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { Author } from '../support/author.ts';

jest.setTimeout(900_000);

const CONTROLLER = (step: string, does: string) => `
import { defineController, operator, StepError } from 'durable-operator';
import { Bucket } from './kind.ts';

const bucket = defineController({
  name: 'bucket',
  for: Bucket,
  steps: {
    ${step}: {
      summary: 'make it',
      external: true,
      run: async () => { ${does} },
    },
  },
  decide: ({ resource: { status } }, next) =>
    status.url === undefined ? next.do.${step}('there is none') : next.converged('it is there'),
  status: ({ resource: { status } }) => status,
});
await operator({ name: 'bucket-operator', controllers: [bucket] }).main();
`;

const STACK = `
import { after, test } from 'node:test';
import { isReady, stack } from 'durable-operator/testing';

const servers = await stack();
after(() => servers.stop());

test('a new version does what the old one called otherwise', async () => {
  const args = ['--task-queue', 'versions'];
  const old = await servers.operator({ main: 'src/old.ts', args });
  const bucket = await servers.applySample('samples/bucket.yaml', await servers.namespace());
  await servers.until(bucket, ({ status }) => JSON.stringify(status ?? '').includes('provision'));
  await old.stop();
  const renamed = await servers.operator({ args });
  await servers.until(bucket, isReady);
  await renamed.stop();
});
`;

it('a step that was renamed while a run waited for it is decided anew', async () => {
  const author = await Author.begin('bucket');
  try {
    await author.write(
      'src/old.ts',
      CONTROLLER('provision', `throw new StepError('unavailable', 'not yet');`),
    );
    await author.write(
      'src/main.ts',
      CONTROLLER('create', `return { message: 'made it', status: { url: 'here' } };`),
    );
    await author.write('test/renamed.stack.ts', STACK);
    await author.node('src/main.ts', 'generate');
    expect(await author.node('--test', '--test-isolation=none', 'test/renamed.stack.ts')).toMatch(/fail 0\n/);
  } finally {
    await rm(author.directory, { recursive: true });
  }
});
