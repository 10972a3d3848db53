/**
 * The thread that runs workflows loads this file first (see workflow-threads.ts). The main thread never does.
 *
 * The SDK makes each call into the workflow sandbox with a time-out. For that, Node starts and joins an operating-system thread,
 * some ten times a run. The SDK also keeps a stack trace of every promise, for one query. Both together cost more than all
 * other work of the thread. Instead, the main thread can see when the current call began. See docs/adr/0009-workflow-thread.md.
 */
import v8 from 'node:v8';
import vm from 'node:vm';
import { getEnvironmentData } from 'node:worker_threads';
import { CALL_BEGAN, monotonicMs } from './workflow-call.ts';

const began = getEnvironmentData(CALL_BEGAN);
if (began instanceof SharedArrayBuffer) withoutTimeout(new Float64Array(began));
withoutPromiseHooks();

function withoutTimeout(calls: Float64Array): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it gets its `this` below
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

/** If the hook fails, as on other runtimes, the SDK goes on without it, but warns on the console. */
function withoutPromiseHooks(): void {
  const warn = console.warn;
  console.warn = () => undefined;
  v8.promiseHooks.createHook = () => {
    queueMicrotask(() => (console.warn = warn));
    throw new Error('promise hooks are switched off');
  };
}
