import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { RunInput } from '../src/contract/run.ts';
import { displayName } from '../src/contract/resource.ts';
import type { PodLabelActivities } from '../src/controllers/pod-label/activities.ts';
import type { SeenPod } from '../src/controllers/pod-label/decide.ts';
import { converge, DURABLE, QUICK } from './converge.ts';

const quick = proxyLocalActivities<PodLabelActivities>(QUICK);
const durable = proxyActivities<PodLabelActivities>(DURABLE);

/** Brings the label of one Pod in line with its annotation. */
export async function podLabel(run: RunInput<SeenPod>): Promise<string> {
  const { ref } = run;
  const summary = `label Pod ${displayName(ref)}`;
  return converge(run, {
    quick: (seen) => quick.labelPod.executeWithOptions({ ...QUICK, summary }, [{ ref, seen }]),
    durable: () => durable.labelPod.executeWithOptions({ ...DURABLE, summary }, [{ ref }]),
  });
}
