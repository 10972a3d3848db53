import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';

/** Its one open run has the settings of the operator of a task queue as its memo. */
export const SETTINGS_WORKFLOW = 'operatorSettings';

const PREFIX = 'operator-settings/';

export function settingsRunId(taskQueue: string): string {
  return PREFIX + taskQueue;
}

export type SettingsTexts = Readonly<Record<string, string>>;

/**
 * No worker ever runs it: its first task is due after so long. So there is no code of it to replay, it belongs to no worker
 * version, and it costs nothing. An operator that starts by then publishes anew.
 */
const NEVER = '3650 days';

export interface SettingsToPublish {
  readonly taskQueue: string;
  readonly texts: SettingsTexts;
  /** Looks at those that would be replaced; undefined: there are none. What it throws keeps them. */
  readonly check: (before: SettingsTexts | undefined) => void;
}

/**
 * Makes these the published settings of the task queue. Where they are already, nothing is written.
 *
 * @param client without encryption: whoever may read Temporal can read them
 * @throws WorkflowExecutionAlreadyStartedError where somebody else published at the same moment: look again
 */
export async function publishSettings(
  client: Client,
  { taskQueue, texts, check }: SettingsToPublish,
): Promise<void> {
  const before = await publishedSettings(client, taskQueue);
  check(before);
  if (isSame(before, texts)) return;
  await client.workflow.start(SETTINGS_WORKFLOW, {
    workflowId: settingsRunId(taskQueue),
    // Nobody polls it; who counts the open runs of the operator's own task queue does not count this one.
    taskQueue: SETTINGS_WORKFLOW,
    startDelay: NEVER,
    memo: { ...texts },
    staticSummary: 'The settings of the operator, as its memo. Nothing runs here.',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    // Of two that begin at once, the second has to look at what the first has published.
    workflowIdConflictPolicy: before === undefined ? 'FAIL' : 'TERMINATE_EXISTING',
  });
}

/** Takes back what is published. An operator that starts, or goes on for minutes, publishes again. Safe to repeat. */
export async function endSettingsRun(client: Client, taskQueue: string): Promise<void> {
  try {
    await client.workflow.getHandle(settingsRunId(taskQueue)).terminate('the operator is uninstalled');
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/** Undefined where no operator has published any, or a person has ended that run. */
export async function publishedSettings(
  client: Client,
  taskQueue: string,
): Promise<SettingsTexts | undefined> {
  try {
    const { status, memo } = await client.workflow.getHandle(settingsRunId(taskQueue)).describe();
    return status.name === 'RUNNING' ? textsIn(memo) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** What all operators have published, by their task queues, as of up to a few seconds ago. */
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

function isSame(one: SettingsTexts | undefined, other: SettingsTexts): boolean {
  if (one === undefined) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}
