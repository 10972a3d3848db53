/** Once a run, after the last integration test. */
export default async function stopStackForTests() {
  await globalThis.durableOperatorTestStack?.stop();
}
