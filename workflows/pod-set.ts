import { proxyActivities } from '@temporalio/workflow';
import type { RunInput } from '../src/contract/run.ts';
import { displayName } from '../src/contract/resource.ts';
import type { PodSetActivities } from '../src/controllers/pod-set/activities.ts';
import { converge, DURABLE } from './converge.ts';

const durable = proxyActivities<PodSetActivities>(DURABLE);

/** Brings the Pods of one PodSet to the wanted number, pass by pass. */
export async function podSet(run: RunInput<undefined>): Promise<string> {
  const { ref } = run;
  const first = `bring the Pods of ${displayName(ref)} to the wanted number`;
  return converge(run, {
    durable: ({ next }) =>
      durable.reconcilePodSet.executeWithOptions({ ...DURABLE, summary: next ?? first }, [{ ref }]),
  });
}
