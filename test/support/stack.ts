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
  /** The kubeconfig of the operator's service account, which may do what deploy/base gives it. */
  operatorKubeconfig: z.string(),
  /** The stack's folder; other users' kubeconfigs are in it. */
  dir: z.string(),
  /** The path of the program. */
  kubectl: z.string(),
});
export type TestStack = z.infer<typeof Coordinates>;

/** The stack that all integration tests of a run share. It was started before the first of them. */
export function testStack(): TestStack {
  const file = process.env['DURABLE_OPERATOR_TEST_STACK'];
  if (file === undefined) {
    throw new Error('no stack was started for this test; run it with `npm run test:integration`');
  }
  return Coordinates.parse(JSON.parse(readFileSync(file, 'utf8')));
}
