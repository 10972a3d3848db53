import { z } from 'zod';
import { allow, defineController, defineKind, operator, type ResourceType } from '../../src/index.ts';

const CONFIG_MAPS: ResourceType = {
  ...{ group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
};

/** A note is kept in a ConfigMap of a namespace, whichever scope its kind has. */
export function aNoteKind(kind: string, namespaced: boolean) {
  return defineKind({
    ...{ group: 'example.com', version: 'v1', kind, namespaced },
    description: 'A note.',
    spec: z.object({
      namespace: z.string().meta({ description: 'The namespace of the ConfigMap.' }),
      text: z.string().meta({ description: 'What it says.' }),
    }),
  });
}

type NoteKind = ReturnType<typeof aNoteKind>;

function notesIn(kind: NoteKind) {
  const at = ({ namespace }: { readonly namespace: string }, name: string) => ({
    ...{ type: CONFIG_MAPS, namespace, name: `${kind.plural}-${name}` },
  });
  return defineController({
    name: 'note',
    for: kind,
    finalizer: 'example.com/note',
    permissions: [allow(CONFIG_MAPS, ['get', 'create', 'patch', 'delete'])],
    observe: ({ resource: { metadata, spec }, kube }) => kube.get(at(spec, metadata.name)),
    steps: {
      write: {
        summary: 'write the note',
        run: async ({ resource: { metadata, spec }, kube }) => {
          const { namespace, name } = at(spec, metadata.name);
          await kube.create(CONFIG_MAPS, {
            ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } },
            data: { text: spec.text },
          });
          return 'wrote the note';
        },
      },
      correct: {
        summary: 'correct the note',
        run: async ({ resource: { metadata, spec }, kube }, uid: string) => {
          await kube.patch(at(spec, metadata.name), { metadata: { uid }, data: { text: spec.text } });
          return 'corrected the note';
        },
      },
      erase: {
        summary: 'erase the note',
        deletes: ({ resource: { metadata, spec } }, uid: string) => ({
          ...{ what: 'ConfigMap', count: 1 },
          objects: () => [{ ...at(spec, metadata.name), uid }],
        }),
        run: async ({ resource: { metadata, spec }, kube }, uid: string) => {
          await kube.delete(at(spec, metadata.name), { uid });
          return 'erased the note';
        },
      },
    },
    decide({ resource: { spec, isBeingDeleted }, observed }, next) {
      if (isBeingDeleted)
        return observed
          ? next.do.erase('it is being deleted', observed.metadata.uid)
          : next.removeFinalizer('it is erased');
      if (!observed) return next.do.write('there is none');
      const { text } = observed['data'] as { readonly text?: string };
      if (text !== spec.text) return next.do.correct('its text is another', observed.metadata.uid);
      return next.converged('it says what it should');
    },
  });
}

/** Started with the name of the operator and of the kind, and `Cluster` if the kind has no namespaces. */
if (import.meta.main) {
  const { OPERATOR = '', KIND = '', SCOPE } = process.env;
  const kind = aNoteKind(KIND, SCOPE !== 'Cluster');
  await operator({ name: OPERATOR, controllers: [notesIn(kind)] }).main();
}
