import { expect, it, jest } from '@jest/globals';
import { dnsRecord } from '../../examples/dns-record/src/dns-record.ts';
import { scenario } from '../../examples/dns-record/test/scenario.ts';
import { explore } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('an ID that a server assigns is never lost, and what it stands for is never made twice', async () => {
  const { unexplored } = await explore(dnsRecord, scenario);
  expect(unexplored).toEqual([]);
});
