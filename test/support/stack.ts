import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Coordinates = z.object({
  /** A kubeconfig file; its user may do everything. */
  kubeconfig: z.string(),
  /** `127.0.0.1:<port>` */
  temporalAddress: z.string(),
  temporalUiUrl: z.string(),
  /** Every request to the API server, one JSON object a line. */
  auditLog: z.string(),
  /** The kubeconfig of the operator's service account, with the permissions of the chart. */
  operatorKubeconfig: z.string(),
  /** The stack's folder; other users' kubeconfigs are in it. */
  dir: z.string(),
  /** The path of the program. */
  kubectl: z.string(),
});
export type TestStack = z.infer<typeof Coordinates>;

/** The stack of this worker of Jest, which its test files share, one after the other. It was started before the first. */
export function testStack(): TestStack {
  const file = process.env['DURABLE_OPERATOR_TEST_STACKS'];
  if (file === undefined) {
    throw new Error('no stack was started for this test; run it with `npm run test:integration`');
  }
  const stacks = z.array(Coordinates).parse(JSON.parse(readFileSync(file, 'utf8')));
  const stack = stacks[Number(process.env['JEST_WORKER_ID']) - 1];
  if (stack === undefined) throw new Error(`${stacks.length} stacks were started, and Jest has more workers`);
  return stack;
}
