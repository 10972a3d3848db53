import { defineController } from 'durable-operator';
import { Bucket } from './kind.ts';
import { askStore } from './store.ts';

export const bucket = defineController({
  name: 'bucket',
  for: Bucket,
  finalizer: 'example.com/bucket',
  pollInterval: '10m',
  observe: ({ resource, signal }) => askStore('GET', resource.metadata.uid, signal),
  observeInPlan: true,
  steps: {
    provision: {
      summary: 'create the bucket',
      run: async ({ resource: { metadata, spec }, idempotencyKey, signal }) => {
        await askStore('PUT', metadata.uid, signal, { ...spec, idempotencyKey });
        return 'created the bucket';
      },
    },
    setVersioning: {
      summary: 'set versioning',
      run: async ({ resource, signal }, { to }: { readonly to: boolean }) => {
        await askStore('PUT', resource.metadata.uid, signal, { versioned: to });
        return `set versioning to ${to}`;
      },
    },
    remove: {
      summary: 'remove the bucket',
      run: async ({ resource, signal }) => {
        await askStore('DELETE', resource.metadata.uid, signal);
        return 'removed the bucket';
      },
    },
  },
  decide({ resource: { spec, isBeingDeleted }, observed }, next) {
    if (isBeingDeleted)
      return observed ? next.do.remove('it is being deleted') : next.removeFinalizer('no bucket is left');
    if (!observed) return next.do.provision('there is no bucket');
    if (observed.versioned !== spec.versioned)
      return next.do.setVersioning('the spec asks for it', { to: spec.versioned });
    return next.converged('the bucket is as specified');
  },
  status: ({ observed }) => ({ ...(observed && { url: observed.url }) }),
});
