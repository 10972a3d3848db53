import type { Outcome, Pass } from '../../contract/run.ts';
import type { SeenBuild } from './seen.ts';

export interface BuildActivities {
  /** Takes one build as far as it goes without waiting. Safe to repeat. */
  advanceBuild(pass: Pass<SeenBuild>): Promise<Outcome>;
}
