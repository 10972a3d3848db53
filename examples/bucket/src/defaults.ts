import { allow, defineController } from 'durable-operator';
import { Bucket } from './kind.ts';

/** A bucket with the label `tier: gold` keeps old versions. */
export const bucketDefaults = defineController({
  name: 'bucket-defaults',
  for: Bucket,
  steps: {
    turnOn: {
      summary: 'turn versioning on',
      reads: 'cache',
      run: async ({ resource: { metadata }, kube }) => {
        const { namespace, name, resourceVersion } = metadata;
        const spec = { versioned: true };
        await kube.patch({ type: Bucket, namespace, name }, { metadata: { resourceVersion }, spec });
        return 'turned versioning on';
      },
    },
  },
  decide({ resource: { metadata, spec } }, next) {
    if (metadata.labels?.['tier'] === 'gold' && !spec.versioned) return next.do.turnOn('its tier is gold');
    return next.converged('versioning is as its tier asks');
  },
  permissions: [allow(Bucket, ['patch'])],
});
