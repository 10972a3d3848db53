import {
  defineController,
  DEPLOYMENTS,
  SERVICES,
  type KubernetesObject,
  type ResourceOf,
} from 'durable-operator';
import { Rollout, type Colour } from './kind.ts';

interface Deployment extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: string }[] } };
  };
  readonly status?: Readonly<
    Partial<Record<'availableReplicas' | 'updatedReplicas' | 'observedGeneration', number>>
  >;
}

/** `view` says of each Deployment what the phases depend on. */
export const rollout = defineController({
  name: 'rollout',
  for: Rollout,
  owns: [DEPLOYMENTS, SERVICES, { ...DEPLOYMENTS, view: wellness }],
  children: ({ resource }) => [
    ...(['blue', 'green'] as const).flatMap((colour) => deployment(resource, colour)),
    ...service(resource),
  ],
  decide({ resource: { spec, status, isBeingDeleted }, owned, nowMs }, next) {
    if (isBeingDeleted) return next.converged('its objects go with it');
    const { active, phase } = status;
    const idle = active === 'blue' ? 'green' : 'blue';
    const since = new Date(nowMs).toISOString();
    const begin = () =>
      next.record(
        { [idle]: spec.image, phase: 'starting', since },
        next.wait(`${idle} to be well`, { recheckAfter: `${spec.deadlineSeconds}s` }),
      );
    if (phase === undefined) return begin();
    if (phase === 'done')
      return active !== undefined && status[active] === spec.image
        ? next.converged(`${active} serves ${spec.image}`)
        : begin();
    // The image has changed once more.
    if (status[idle] !== spec.image) return begin();
    const isWell = owned.some(({ colour, image }) => colour === idle && image === spec.image);
    const leftMs = (seconds: number) => Date.parse(status.since ?? since) + seconds * 1_000 - nowMs;
    const soak = (ms: number) => next.wait(`${idle} to soak`, { recheckAfter: `${ms}ms` });
    if (phase === 'soaking') {
      if (!isWell) return begin();
      const ms = leftMs(spec.soakSeconds);
      if (ms > 0) return soak(ms);
      return next.record(
        { active: idle, phase: 'done', since },
        next.converged(`${idle} serves ${spec.image}`),
      );
    }
    if (isWell) return next.record({ phase: 'soaking', since }, soak(spec.soakSeconds * 1_000 || 1));
    const ms = leftMs(spec.deadlineSeconds);
    return ms > 0 ? next.wait(`${idle} to be well`, { recheckAfter: `${ms}ms` }) : next.stalled(LATE);
  },
  status: ({ resource: { status } }) => status,
});

const LATE = {
  reason: 'DeadlineExceeded',
  message: 'the new image is not well in time; the old one goes on serving',
  advice: ['correct spec.image: that begins anew'],
};

type RolloutResource = ResourceOf<typeof Rollout>;

/** The image that all of its Pods run, and are well with; undefined: there is none yet. */
function wellness({ metadata: { name, generation }, spec, status }: Deployment): {
  colour: string;
  image?: string;
} {
  const { availableReplicas, updatedReplicas, observedGeneration } = status ?? {};
  const wanted = spec?.replicas ?? 1;
  const image = spec?.template?.spec?.containers?.[0]?.image;
  const isWell =
    observedGeneration === generation && availableReplicas === wanted && updatedReplicas === wanted;
  return {
    colour: name.slice(name.lastIndexOf('-') + 1),
    ...(isWell && wanted > 0 && image !== undefined && { image }),
  };
}

/** The one that neither serves nor is about to has no Pods. */
function deployment({ metadata: { name }, spec, status }: RolloutResource, colour: Colour) {
  const image = status[colour];
  if (image === undefined) return [];
  const isNeeded = status.active === colour || (status.phase !== 'done' && image === spec.image);
  const labels = { app: name, colour };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: `${name}-${colour}` },
      spec: {
        replicas: isNeeded ? spec.replicas : 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'server', image }] } },
      },
    },
  ];
}

function service({ metadata: { name }, status: { active } }: RolloutResource) {
  if (active === undefined) return [];
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: { app: name, colour: active }, ports: [{ port: 80 }] },
    },
  ];
}
