import { afterEach, beforeEach } from '@jest/globals';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { FakeApiServer } from './fake-api-server.ts';

export interface FakeApi {
  readonly server: FakeApiServer;
  readonly client: KubernetesClient;
}

/** A fake API server and a client of it, new ones for each test of the file that calls this. */
export function aFakeApi(): FakeApi {
  let server: FakeApiServer;
  let client: KubernetesClient;
  beforeEach(async () => {
    server = await FakeApiServer.start();
    client = createKubernetesClient(server.kubeConfig());
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
  };
}
