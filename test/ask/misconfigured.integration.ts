import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { NativeConnection } from '@temporalio/worker';
import { ask } from '../support/asking.ts';
import { testStack } from '../support/stack.ts';
import { aTemporalNamespace } from '../support/temporal-namespace.ts';

jest.setTimeout(60_000);

const stack = testStack();

describe('a command that is told where to ask', () => {
  it.each(['get', 'history podset/web'])(
    'names the Temporal namespace that is not there: %s',
    async (words) => {
      const variables = { TEMPORAL_NAMESPACE: 'nowhere' };
      const { status, stderr, stdout } = await ask(words.split(' '), { variables });
      expect(status).toBe(2);
      expect(stdout + stderr).toContain("'nowhere'; check TEMPORAL_NAMESPACE");
    },
  );

  it.each(['why podset/web', 'retry'])('names the payload keys that cannot be read: %s', async (words) => {
    const { status, stderr } = await ask([...words.split(' '), '--payload-keys', '/nowhere']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^kubectl durable: payload keys \/nowhere: .*; specify a readable file\n$/);
  });

  describe('in a Temporal namespace where no operator has ever been', () => {
    let variables: { readonly TEMPORAL_NAMESPACE: string };

    beforeAll(async () => {
      const connection = await NativeConnection.connect({ address: stack.temporalAddress });
      variables = { TEMPORAL_NAMESPACE: await aTemporalNamespace(connection) };
      await connection.close();
    });

    it.each(['get podsets -n kube-public', 'why namespace/default', 'history namespace/kube-public'])(
      'says that there is no operator, and no more than that: %s',
      async (words) => {
        const { stdout, stderr } = await ask(words.split(' '), { variables });
        expect(stdout + stderr).toMatch(/no operator|no reconcile/);
        expect(stdout + stderr).not.toMatch(/search attribute|TEMPORAL_ variables/);
      },
    );
  });

  it('says that there is nothing to pause', async () => {
    const words = ['pause', 'podset', '-n', 'nowhere', '--yes'];
    expect(await ask(words)).toEqual({
      ...{ status: 0, stdout: '', stderr: 'No resources found\n' },
    });
  });
});
