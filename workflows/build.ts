import { proxyActivities } from '@temporalio/workflow';
import { displayName } from '../src/contract/resource.ts';
import type { RunInput } from '../src/contract/run.ts';
import type { BuildActivities } from '../src/controllers/build/activities.ts';
import type { SeenBuild } from '../src/controllers/build/seen.ts';
import { converge, DURABLE } from './converge.ts';

const durable = proxyActivities<BuildActivities>(DURABLE);

/** Builds what one resource describes; cleans up behind it. */
export async function build(run: RunInput<SeenBuild>): Promise<string> {
  const { ref } = run;
  return converge(run, {
    durable: ({ seen, next }) =>
      durable.advanceBuild.executeWithOptions(
        { ...DURABLE, summary: next ?? `see to build ${displayName(ref)}` },
        [{ ref, ...(seen !== undefined && { seen }) }],
      ),
  });
}
