import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@temporalio/client';
import { unlessNotFound } from './grpc-status.ts';

/** The workflow type of the run that has an operator's settings as its memo. */
export const SETTINGS_WORKFLOW = 'operatorSettings';

const PREFIX = 'operator-settings/';

export function settingsRunId(taskQueue: string): string {
  return PREFIX + taskQueue;
}

export type SettingsTexts = Readonly<Record<string, string>>;

/**
 * The run's first task is due after this time, so no worker ever runs it. It has no code to replay, belongs to no worker
 * version, and costs nothing.
 */
const NEVER = '3650 days';

export interface SettingsToPublish {
  readonly taskQueue: string;
  readonly texts: SettingsTexts;
  /** Gets the settings that would be replaced, if any. An exception keeps them. */
  readonly check: (before: SettingsTexts | undefined) => void;
}

/**
 * Publishes the settings of the operator of a task queue. Writes nothing if they are published already.
 *
 * @param client without encryption: all users of Temporal can read the settings
 * @throws WorkflowExecutionAlreadyStartedError if another process publishes at the same moment
 */
export async function publishSettings(
  client: Client,
  { taskQueue, texts, check }: SettingsToPublish,
): Promise<void> {
  const before = await publishedSettings(client, taskQueue);
  check(before);
  if (isDeepStrictEqual(before, texts)) return;
  await client.workflow.start(SETTINGS_WORKFLOW, {
    workflowId: settingsRunId(taskQueue),
    // Nobody polls it. So this run is not among the open runs of the operator's own task queue.
    taskQueue: SETTINGS_WORKFLOW,
    startDelay: NEVER,
    memo: { ...texts },
    staticSummary: 'The settings of the operator, as its memo. Nothing runs here.',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    // Of two processes that publish at once, the second has to check the settings of the first.
    workflowIdConflictPolicy: before === undefined ? 'FAIL' : 'TERMINATE_EXISTING',
  });
}

/** Takes the settings back. An operator that still runs publishes them again within minutes. Safe to repeat. */
export async function endSettingsRun(client: Client, taskQueue: string): Promise<void> {
  const handle = client.workflow.getHandle(settingsRunId(taskQueue));
  await unlessNotFound(handle.terminate('the operator is uninstalled'));
}

/** Undefined: no operator has published any, or a person has ended the run. */
export async function publishedSettings(
  client: Client,
  taskQueue: string,
): Promise<SettingsTexts | undefined> {
  const run = await unlessNotFound(client.workflow.getHandle(settingsRunId(taskQueue)).describe());
  return run?.status.name === 'RUNNING' ? textsIn(run.memo) : undefined;
}

/** The settings of all operators by their task queues, as of up to a few seconds ago. */
export async function allPublishedSettings(client: Client): Promise<ReadonlyMap<string, SettingsTexts>> {
  const query = `WorkflowType = '${SETTINGS_WORKFLOW}' AND ExecutionStatus = 'Running'`;
  const found = new Map<string, SettingsTexts>();
  for await (const { workflowId, memo } of client.workflow.list({ query })) {
    if (workflowId.startsWith(PREFIX)) found.set(workflowId.slice(PREFIX.length), textsIn(memo));
  }
  return found;
}

function textsIn(memo: Readonly<Record<string, unknown>> = {}): SettingsTexts {
  return Object.fromEntries(
    Object.entries(memo).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
