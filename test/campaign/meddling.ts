import { randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Place } from './place.ts';
import { openRuns } from './state.ts';

export type Meddling = 'cancel' | 'reset' | 'pause activities';

const BY_HAND = { reason: 'by hand', identity: 'the campaign' };

/** What people do in Temporal's UI with each run that is open. One that has ended by now is left. @returns what ends it */
export async function meddle(
  temporal: Client,
  place: Place,
  how: Meddling | 'terminate',
): Promise<() => void> {
  const ends: (() => Promise<unknown>)[] = [];
  for (const { workflowId } of await openRuns(temporal, place)) {
    await meddleWith({ temporal, workflowId, how, ends }).catch(() => undefined);
  }
  return () => {
    for (const end of ends) end().catch(() => undefined);
  };
}

/** The event that completed it: what UIs offer as the first point to reset to. */
async function firstTaskOf(handle: WorkflowHandle) {
  const { events } = await handle.fetchHistory();
  return events?.find((event) => event.workflowTaskCompletedEventAttributes != null)?.eventId;
}

interface Meddled {
  readonly temporal: Client;
  readonly workflowId: string;
  readonly how: Meddling | 'terminate';
  /** What is to be undone in the end. */
  readonly ends: (() => Promise<unknown>)[];
}

async function meddleWith({ temporal, workflowId, how, ends }: Meddled): Promise<void> {
  const { workflowService: service, options } = temporal;
  const { namespace } = options;
  const handle = temporal.workflow.getHandle(workflowId);
  const execution = { workflowId };
  switch (how) {
    case 'terminate':
      await handle.terminate('by hand');
      break;
    case 'cancel':
      await handle.cancel();
      break;
    case 'reset':
      await service.resetWorkflowExecution({
        ...{ namespace, workflowExecution: execution, requestId: randomUUID(), ...BY_HAND },
        workflowTaskFinishEventId: (await firstTaskOf(handle)) ?? null,
      });
      break;
    case 'pause activities':
      for (const { activityId: id } of (await handle.describe()).raw.pendingActivities ?? []) {
        if (typeof id !== 'string') continue;
        const activity = { namespace, execution, id, ...BY_HAND };
        await service.pauseActivity(activity);
        ends.push(() => service.unpauseActivity(activity));
      }
      break;
  }
}
