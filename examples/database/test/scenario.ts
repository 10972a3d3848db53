import type { AnyObject, FetchAnswer, FetchRequest, Scenario } from 'durable-operator/testing';
import type { database } from '../src/database.ts';

/** As its controller in Kubernetes sees to it. */
function runs(object: AnyObject | undefined): void {
  if (object === undefined) return;
  const { generation } = object['metadata'] as { generation: number };
  object['status'] = {
    ...{
      observedGeneration: generation,
      replicas: 1,
      readyReplicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
    },
    ...{ currentRevision: 'a', updateRevision: 'a' },
    conditions: [{ type: 'Available', status: 'True' }],
  };
}

/** The directory, as plain state and a function on it. */
const directory = {
  accounts: {} as Record<string, true>,
  fetch({ method, url }: FetchRequest): FetchAnswer {
    const id = url.slice(url.lastIndexOf('/') + 1);
    if (method === 'PUT') this.accounts[id] = true;
    if (method === 'DELETE') Reflect.deleteProperty(this.accounts, id);
    return { status: this.accounts[id] ? 200 : 404 };
  },
};

/** What people do, what Kubernetes does, and what has to be so in the end. */
export const scenario: Scenario<typeof database, typeof directory> = {
  resource: { spec: { app: 'shop:1' } },
  outside: directory,
  userEdits: { 'a new app': ({ spec }) => (spec.app = 'shop:2') },
  happens: {
    'the database is ready': ({ objects }) => runs(objects['statefulsets/example']),
    'the app is ready': ({ objects }) => runs(objects['deployments/example-app']),
  },
  finally: ({ resource, outside, objects }) => [
    resource && objects['secrets/example'] === undefined && 'there is no password',
    resource && objects['deployments/example-app'] === undefined && 'there is no app',
    resource && outside.accounts[resource.metadata.uid] === undefined && 'there is no account',
  ],
};
