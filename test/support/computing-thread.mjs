import v8 from 'node:v8';
import vm from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';

/** Goes into a sandbox as the SDK does, computes there until it is told to leave, and tells how it went. */
const told = new Int32Array(workerData);
const context = vm.createContext({ isOver: () => Atomics.load(told, 0) === 1 });
parentPort.postMessage(`${compute()}, ${hookPromises()}`);

function compute() {
  try {
    new vm.Script('while (!isOver());').runInContext(context, { timeout: 1 });
    return 'came to its end';
  } catch (error) {
    return error.code;
  }
}

function hookPromises() {
  try {
    v8.promiseHooks.createHook({ init: () => undefined });
    return 'promises are hooked';
  } catch (error) {
    return error.message;
  }
}
