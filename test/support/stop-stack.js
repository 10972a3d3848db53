import process from 'node:process';

/** Once a run, after the last integration test. */
export default async function stopStackForTests() {
  await Promise.all((globalThis.durableOperatorTestStacks ?? []).map((stack) => stack.stop()));
  process.once('beforeExit', endWithoutCleanup);
}

/**
 * After some hundred integration tests, Node 24 may never come to its end although nothing is open any more: it waits in
 * its own cleanup for a request that has long ended, with one core busy. The process is left without that cleanup, after
 * Jest has set its exit code, which it does in a listener of its own.
 */
function endWithoutCleanup() {
  process.once('exit', () => process.exit());
}
