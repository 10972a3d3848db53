import { expect, it, jest } from '@jest/globals';
import { secretCopy } from '../../examples/secret-copy/src/secret-copy.ts';
import { explore, type AnyObject } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

const dataOf = (secret: AnyObject | undefined): string => JSON.stringify(secret?.['data']);

it('a copy has the latest password in the end, and goes with the resource', async () => {
  const { unexplored } = await explore(secretCopy, {
    resource: { spec: { secretName: 'password', namespaces: ['shop'] } },
    objects: { 'secrets/password': { data: { text: 'old' } }, 'namespaces/shop': {} },
    externalChanges: {
      'the password changes': ({ objects }) =>
        (objects['secrets/password'] = { ...objects['secrets/password'], data: { text: 'new' } }),
    },
    outcome: ({ objects }) => Object.keys(objects),
    finally: ({ resource, objects }) => [
      resource &&
        dataOf(objects['secrets/shop/password']) !== dataOf(objects['secrets/password']) &&
        'the copy has another password',
    ],
  });
  expect(unexplored).toEqual([]);
});
