import { asyncLocalStorage, type Context, type Info } from '@temporalio/activity';

/** Runs a step activity as a worker would, as far as our code asks Temporal about the attempt. */
export function asActivity<T>(
  info: Pick<Info, 'workflowExecution' | 'attempt' | 'activityType'>,
  activity: () => Promise<T>,
): Promise<T> {
  // The SDK's test environment is a package of its own; nothing but `info` is asked for.
  const context = { info } as unknown as Context;
  return asyncLocalStorage.run(context, activity);
}
