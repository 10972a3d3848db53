import type { AnyObject, Scenario } from 'durable-operator/testing';
import type { rollout } from '../src/rollout.ts';

/** Of this image, no Pod gets well. */
export const BAD = 'server:bad';

interface Deployment {
  readonly metadata: { readonly generation: number };
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
  status?: object;
}

/** As the Deployment controller sees to it. */
function runs(object: AnyObject | undefined): void {
  const deployment = object as Deployment | undefined;
  if (deployment === undefined) return;
  const { replicas } = deployment.spec;
  const isBad = imageOf(deployment) === BAD;
  deployment.status = {
    observedGeneration: deployment.metadata.generation,
    ...{ replicas, updatedReplicas: replicas },
    ...(isBad ? {} : { readyReplicas: replicas, availableReplicas: replicas }),
    conditions: [{ type: 'Available', status: isBad ? 'False' : 'True' }],
  };
}

function imageOf({ spec: { template } }: Deployment): string | undefined {
  return template.spec.containers[0]?.image;
}

function servingIn(objects: Readonly<Record<string, AnyObject | undefined>>): string | undefined {
  const service = objects['services/example'] as { spec: { selector: { colour: string } } } | undefined;
  const serving = objects[`deployments/example-${service?.spec.selector.colour ?? ''}`];
  return serving && imageOf(serving as Deployment);
}

/** What people do, what Kubernetes does, and what has to be so in the end. */
export const scenario: Scenario<typeof rollout, object> = {
  resource: { spec: { image: 'server:1', soakSeconds: 30, deadlineSeconds: 300 } },
  userEdits: {
    'a new image': ({ spec }) => (spec.image = 'server:2'),
  },
  happens: {
    'the blue Deployment is as well as it gets': ({ objects }) => runs(objects['deployments/example-blue']),
    'the green Deployment is as well as it gets': ({ objects }) => runs(objects['deployments/example-green']),
  },
  finally: ({ resource, objects }) => {
    if (resource === undefined) return [];
    const image = servingIn(objects);
    return [
      image === BAD && 'an image serves that does not start',
      resource.spec.image !== BAD && image !== resource.spec.image && `${image ?? 'nothing'} serves`,
    ];
  },
  // Where an image is changed at once, the first one is never begun: then the colours are others.
  outcome: ({ resource, objects }) => [servingIn(objects), resource?.status?.['phase'] as unknown],
};
