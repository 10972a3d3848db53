import type { Outcome, Pass } from '../../contract/run.ts';
import type { SeenPod } from './decide.ts';

export interface PodLabelActivities {
  /** Adds or removes the label of one Pod, as its annotation says. Safe to repeat. */
  labelPod(pass: Pass<SeenPod>): Promise<Outcome>;
}
