/*
 * Real servers for tests. In: nothing, or a program. Out: namespaces, resources, operators to kill, outages, and what the API server was
 * asked for. All of it is on loopback, and ends with the process of the tests.
 */

import type { KubernetesObject } from '../src/api/object.ts';
import { fieldsOf, listOf } from '../src/api/fields.ts';
import type { TestStack } from './stack/test-stack.ts';

let running: Promise<TestStack> | undefined;

/**
 * Starts a real API server with its controllers, two simulated nodes and a Temporal server, all on loopback. The tests of a process share
 * them. Programs that are not in the cache, in `KUBEBUILDER_ASSETS` or on the PATH are downloaded first, or
 * else built with Go, which takes minutes: once per machine.
 *
 * @throws Error if a server cannot be built or started
 * @example
 * const servers = await stack();
 * after(() => servers.stop());
 * const operator = await servers.operator();
 *
 * test('a website becomes ready', async () => {
 *   const site = await servers.applySample('samples/website.yaml', await servers.namespace());
 *   await servers.until(site, isReady);
 * });
 */
export function stack(): Promise<TestStack> {
  running ??= start().catch((error: unknown) => {
    running = undefined;
    throw error;
  });
  return running;
}

async function start(): Promise<TestStack> {
  // It loads the servers of the local stack, which other tests do not need.
  const { startTestStack } = await import('./stack/running.ts');
  return startTestStack(() => (running = undefined));
}

/** Whether its condition Ready is True, for the spec that it has now. */
export function isReady(resource: KubernetesObject): boolean {
  const { metadata, status } = resource;
  const { observedGeneration, conditions } = fieldsOf(status);
  const ready = listOf(conditions).find(({ type }) => type === 'Ready');
  return ready?.['status'] === 'True' && observedGeneration === metadata.generation;
}
