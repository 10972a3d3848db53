/**
 * Loaded first in the thread that runs workflows (see workflow-threads.ts); never in the main thread.
 *
 * The SDK makes each call into the workflow sandbox with a time-out, for which Node starts and joins an
 * operating-system thread, some ten times a run; and it keeps a stack trace of every promise, for one query.
 * Together they cost more than all else that the thread does. In their place, the time at which a call
 * began is kept where the main thread sees it. docs/adr/0009-workflow-thread.md has the figures.
 */
import v8 from 'node:v8';
import vm from 'node:vm';
import { getEnvironmentData } from 'node:worker_threads';
import { CALL_BEGAN, monotonicMs } from './workflow-call.ts';

const began = getEnvironmentData(CALL_BEGAN);
if (began instanceof SharedArrayBuffer) withoutTimeout(new Float64Array(began));
withoutPromiseHooks();

function withoutTimeout(calls: Float64Array): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its own `this` below
  const runInContext = vm.Script.prototype.runInContext;
  vm.Script.prototype.runInContext = function (context): unknown {
    calls[0] = monotonicMs();
    try {
      return runInContext.call(this, context);
    } finally {
      calls[0] = 0;
    }
  };
}

/** The SDK does without the hook where it cannot have it, as on other runtimes, but says so on the console. */
function withoutPromiseHooks(): void {
  const warn = console.warn;
  console.warn = () => undefined;
  v8.promiseHooks.createHook = () => {
    queueMicrotask(() => (console.warn = warn));
    throw new Error('promise hooks are switched off');
  };
}
