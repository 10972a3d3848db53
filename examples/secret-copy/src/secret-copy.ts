import {
  allow,
  defineController,
  digestOf,
  labelSelectorText,
  NAMESPACES,
  SECRETS,
  type KubeReader,
  type KubernetesObject,
  type ResourceOf,
} from 'durable-operator';
import { SecretCopy } from './kind.ts';

interface Secret extends KubernetesObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** On each copy: the UID of the SecretCopy. */
const COPY_OF = 'example.com/copy-of';

export const secretCopy = defineController({
  name: 'secret-copy',
  for: SecretCopy,
  finalizer: 'example.com/secret-copy',
  references: [
    { ...SECRETS, names: ({ resource }) => [{ name: resource.spec.secretName }] },
    {
      ...NAMESPACES,
      names: ({ resource }) => resource.spec.namespaces.map((name) => ({ name })),
      matchLabels: ({ resource }) => resource.spec.namespaceLabels,
    },
  ],
  permissions: [allow(SECRETS, ['list', 'create', 'patch', 'delete'])],

  observe: async ({ resource, kube }) => {
    const { namespace, uid } = resource.metadata;
    const [source, targets, copies] = await Promise.all([
      kube.get<Secret>({ type: SECRETS, namespace, name: resource.spec.secretName }),
      targetsOf(resource, kube),
      kube.list<Secret>(SECRETS, { labelSelector: `${COPY_OF}=${uid}` }),
    ]);
    return { source, targets, copies };
  },

  steps: {
    copy: {
      summary: 'copy the Secret',
      // A late attempt would write an old password, or leave a copy behind: the library waits for it.
      external: true,
      run: async (
        { resource, observed: { source, copies }, kube, log, progress },
        namespaces: readonly string[],
      ) => {
        const { type, data = {} } = source ?? {};
        for (const namespace of namespaces) {
          const name = resource.spec.secretName;
          const copy = copies.find(({ metadata }) => metadata.namespace === namespace);
          const labels = { [COPY_OF]: resource.metadata.uid };
          const { uid, resourceVersion } = copy?.metadata ?? {};
          const metadata = { namespace, name, labels, uid, resourceVersion };
          // Whoever has changed a copy is overruled.
          await kube.apply(SECRETS, { metadata, type, data }, { force: true });
          log.debug({ target: namespace }, 'copied the Secret');
          progress(`copied the Secret into ${namespace}`);
        }
        return `copied the Secret into ${namespaces.join(', ')}`;
      },
    },
    remove: {
      summary: 'remove copies',
      external: false,
      deletes: (_, surplus: readonly Secret[]) => ({
        what: 'Secret',
        count: surplus.length,
        objects: () => surplus.map(({ metadata }) => metadata),
        // They can be copied again.
        approval: 'never',
      }),
      run: async ({ kube, progress }, surplus: readonly Secret[]) => {
        for (const { metadata } of surplus) {
          await kube.delete({ type: SECRETS, ...metadata }, { uid: metadata.uid });
          progress(`removed the copy in ${metadata.namespace}`);
        }
        return `removed ${surplus.length} copies`;
      },
    },
  },

  decide({ resource: { spec, isBeingDeleted }, observed: { source, targets, copies } }, next) {
    const surplus = copies.filter(
      ({ metadata: { namespace = '', name } }) =>
        isBeingDeleted || !targets.includes(namespace) || name !== spec.secretName,
    );
    if (surplus.length > 0) return next.do.remove('they are not asked for', surplus);
    if (isBeingDeleted) return next.removeFinalizer('no copy is left');
    if (source === undefined)
      return next.stalled({
        reason: 'NoSecret',
        message: `there is no Secret ${spec.secretName}`,
        advice: ['create the Secret; that is noticed at once'],
      });
    const missing = targets.filter(
      (target) =>
        !copies.some(
          ({ metadata, data }) => metadata.namespace === target && digestOf(data) === digestOf(source.data),
        ),
    );
    if (missing.length > 0) return next.do.copy(`${missing.length} of ${targets.length} differ`, missing);
    return next.converged(`there are ${copies.length} copies`);
  },
  status: ({ observed: { copies } }) => ({ copies: copies.length }),
});

/** The namespaces that exist and are to have a copy. */
async function targetsOf(
  { spec, metadata }: ResourceOf<typeof SecretCopy>,
  kube: KubeReader,
): Promise<readonly string[]> {
  const labelSelector = labelSelectorText(spec.namespaceLabels ?? {});
  const [selected, named] = await Promise.all([
    labelSelector === '' ? [] : kube.list(NAMESPACES, { labelSelector }),
    Promise.all(spec.namespaces.map((name) => kube.get({ type: NAMESPACES, name }))),
  ]);
  const there = [...selected, ...named].filter((each) => each?.metadata.deletionTimestamp === undefined);
  const names = new Set(there.flatMap((each) => each?.metadata.name ?? []));
  names.delete(metadata.namespace ?? '');
  return [...names].sort();
}
