import { asyncLocalStorage, type Context, type Info } from '@temporalio/activity';

export type FakeContext = Partial<Pick<Context, 'heartbeat' | 'cancellationSignal'>>;

/** Runs a step activity as a worker would, as far as our code asks Temporal about the attempt. */
export function asActivity<T>(
  info: Pick<Info, 'workflowExecution' | 'attempt' | 'activityType'> &
    Partial<Pick<Info, 'heartbeatDetails'>>,
  activity: () => Promise<T>,
  { heartbeat = () => undefined, cancellationSignal = new AbortController().signal }: FakeContext = {},
): Promise<T> {
  // The SDK's test environment is a package of its own; nothing else is asked for.
  const context = { info, heartbeat, cancellationSignal } as unknown as Context;
  return asyncLocalStorage.run(context, activity);
}
