import { randomBytes } from 'node:crypto';
import {
  child,
  defineController,
  DEPLOYMENTS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
  type Manifest,
} from 'durable-operator';
import { z } from 'zod';
import { directoryAt } from './directory.ts';
import { Database, type DatabaseResource } from './kind.ts';

const SERVICE_MONITORS = {
  ...{ group: 'monitoring.coreos.com', version: 'v1', plural: 'servicemonitors' },
  ...{ kind: 'ServiceMonitor', namespaced: true },
};

export const database = defineController({
  name: 'database',
  for: Database,
  finalizer: 'example.com/database',
  options: z.object({ directoryUrl: z.url().default('http://127.0.0.1:9000') }),
  clients: ({ directoryUrl }) => ({ directory: directoryAt(directoryUrl) }),
  owns: [
    SECRETS,
    STATEFUL_SETS,
    DEPLOYMENTS,
    { ...SERVICES, view: ({ spec }) => (spec as { readonly clusterIP?: string }).clusterIP },
    { ...SERVICE_MONITORS, optional: true },
  ],
  children({ resource, current }) {
    const { name } = resource.metadata;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name } };
    const generate = () => ({ stringData: { password: randomBytes(24).toString('hex') } });
    // A new Secret has another UID. Then the Pods of both are replaced, and read the new password.
    const password = current(SECRETS, name)?.uid ?? '';
    const db = statefulSet(resource, password);
    return [
      child(secret, { createOnly: true, generate, adopt: true }),
      child(db, { after: [secret], adopt: true }),
      child(service(resource), { adopt: true }),
      child(app(resource, password), { after: [db] }),
      monitor(resource),
    ];
  },
  observe: ({ resource, clients, signal }) => clients.directory.has(resource.metadata.uid, signal),
  steps: {
    addAccount: {
      summary: 'add the account',
      run: async ({ resource, clients, signal }) => {
        await clients.directory.add(resource.metadata.uid, signal);
        return 'added the account';
      },
    },
    removeAccount: {
      summary: 'remove the account',
      run: async ({ resource, clients, signal }) => {
        await clients.directory.remove(resource.metadata.uid, signal);
        return 'removed the account';
      },
    },
  },
  decide({ resource: { metadata, isBeingDeleted }, observed: isThere, current }, next) {
    if (isBeingDeleted)
      return isThere
        ? next.do.removeAccount('it is being deleted')
        : next.removeFinalizer('no account is left');
    const isUp = current(STATEFUL_SETS, metadata.name)?.ready;
    return isUp && !isThere ? next.do.addAccount('the database is up') : next.converged('all is there');
  },
  status: ({ resource: { metadata }, current }) => ({ address: current(SERVICES, metadata.name)?.view }),
});

function statefulSet(
  { metadata: { name }, spec: { image } }: DatabaseResource,
  password: string,
): Manifest<'StatefulSet'> {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: {
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: podTemplate({ app: name, secret: name, image, password }),
    },
  };
}

function app({ metadata, spec }: DatabaseResource, password: string): Manifest<'Deployment'> {
  const name = `${metadata.name}-app`;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: podTemplate({ app: name, secret: metadata.name, image: spec.app, password }),
    },
  };
}

function podTemplate({
  app,
  secret,
  image,
  password,
}: Record<'app' | 'secret' | 'image' | 'password', string>) {
  const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: secret, key: 'password' } } }];
  return {
    metadata: { labels: { app }, annotations: { 'example.com/password': password } },
    spec: { containers: [{ name: 'main', image, env }] },
  };
}

function service({ metadata: { name } }: DatabaseResource): Manifest<'Service'> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ port: 5432 }] },
  };
}

function monitor({ metadata: { name } }: DatabaseResource) {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: { name },
    spec: { selector: { matchLabels: { app: name } }, endpoints: [{ targetPort: 9187 }] },
  };
}
