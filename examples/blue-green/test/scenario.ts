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
    ...{ replicas, updatedReplicas: replicas, availableReplicas: isBad ? 0 : replicas },
    conditions: [{ type: 'Available', status: isBad ? 'False' : 'True' }],
  };
}

function imageOf({ spec: { template } }: Deployment): string | undefined {
  return template.spec.containers[0]?.image;
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
    const service = objects['services/example'] as { spec: { selector: { colour: string } } } | undefined;
    const serving = objects[`deployments/example-${service?.spec.selector.colour ?? ''}`];
    const image = serving && imageOf(serving as Deployment);
    return [
      image === BAD && 'an image serves that does not start',
      resource.spec.image !== BAD && image !== resource.spec.image && `${String(image)} serves`,
    ];
  },
};
