import type { Outcome, Pass } from '../../contract/run.ts';

export interface PodSetActivities {
  /**
   * Brings the Pods of one PodSet nearer to the wanted number, and its status in line with them; says so where there
   * is more to do. It begins no write after two seconds, nor after half a second once it has made 150. Safe to repeat.
   */
  reconcilePodSet(pass: Pass<never>): Promise<Outcome>;
}
