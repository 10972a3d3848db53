import { bounded } from '../bounded.ts';
import type { TemporalAccess } from '../connection/session.ts';
import type { ResourceName } from '../resource-name.ts';
import { DESCRIBED_AT_A_TIME, describeRun, endOfTimeline, openRuns, type ListedRun } from '../runs/runs.ts';
import { lastStepOf } from '../runs/timeline.ts';
import type { Scope } from './resources.ts';
import type { DescribedRun } from './rows.ts';

/** The open runs of the resources in the scope. @throws TemporalProblem */
export async function describedRuns(
  access: TemporalAccess,
  { namespace, name }: Scope,
  named: ResourceName | undefined,
): Promise<DescribedRun[]> {
  const isNamespaces = named?.controller.primary.type.namespaced === false;
  const of = { controller: named?.controller.name, namespace: isNamespaces ? name : namespace };
  const open = (await openRuns(access, of)).filter(({ ref }) => name === undefined || ref.name === name);
  const described = await bounded(open, DESCRIBED_AT_A_TIME, (run) => describe(access, run));
  return described.filter((run) => run !== undefined);
}

/** @returns undefined where it has ended since it was listed */
async function describe(access: TemporalAccess, listed: ListedRun): Promise<DescribedRun | undefined> {
  // It rests, and the list says as what: there is no step to describe.
  if (listed.runState !== undefined) return atRest(access, { ...listed, pending: [], task: undefined });
  const run = await describeRun(access, listed.ref, listed.runId);
  if (run?.isOpen !== true) return undefined;
  return run.pending.length > 0 || run.task !== undefined ? { run, because: '' } : atRest(access, run);
}

/** A run that rests says why in its history. */
async function atRest(access: TemporalAccess, run: DescribedRun['run']): Promise<DescribedRun | undefined> {
  const timeline = await endOfTimeline(access, run);
  if (timeline.end !== undefined) return undefined;
  const last = lastStepOf(timeline);
  return { run, because: last?.end.how === 'done' ? (last.end.next?.because ?? '') : '' };
}
