import type { KubernetesObject } from '../../src/api/object.ts';
import { canonicalText, fieldsOf, isFields, listOf, textOf, type Fields } from '../../src/api/fields.ts';

/*
 * Who owns which fields, as the API server keeps it, except that it takes each list as a whole. Source: Kubernetes docs, "Server-Side
 * Apply".
 */

type Operation = 'Apply' | 'Update';
type Path = readonly string[];

/** What a create leaves: its manager owns what it sent. */
export function createdBy(manager: string, operation: Operation, object: KubernetesObject): KubernetesObject {
  return withEntries(object, [entryOf(manager, operation, object)]);
}

/** The fields that others own, and that this apply would change. */
export function conflictsOf(before: KubernetesObject, manager: string, sent: Fields): readonly Path[] {
  const content = contentOf(sent);
  const others = entriesOf(before).filter((each) => !isOf(each, manager, 'Apply'));
  return pathsIn(fieldsIn(content))
    .filter((path) => !isFields(valueAt(content, path)))
    .filter((path) => others.some(({ fieldsV1 }) => owns(fieldsOf(fieldsV1), path)))
    .filter((path) => canonicalText(valueAt(content, path)) !== canonicalText(valueAt(before, path) ?? null));
}

/**
 * Server-side apply, by force. The manager no longer owns what it leaves out, and if nobody else does, that goes. What it changes is
 * nobody's else.
 */
export function applied(before: KubernetesObject, manager: string, sent: Fields): KubernetesObject {
  const entries = entriesOf(before);
  const entry = entryOf(manager, 'Apply', sent);
  const taken = conflictsOf(before, manager, sent);
  const others = entries.filter((each) => !isOf(each, manager, 'Apply')).map((each) => lessOf(each, taken));
  const owned = entries.find((each) => isOf(each, manager, 'Apply'));
  const gone = pathsIn(fieldsOf(owned?.['fieldsV1'])).filter(
    (path) => ![entry, ...others].some(({ fieldsV1 }) => owns(fieldsOf(fieldsV1), path)),
  );
  const kept = gone.reduce<Fields>((fields, path) => without(fields, path), before);
  return withEntries(asObject(merged(kept, contentOf(sent)), before), [...others, entry]);
}

/** What somebody else changes is no longer anybody's else. */
export function editedBy(
  manager: string,
  before: KubernetesObject,
  change: (object: KubernetesObject) => Fields,
): KubernetesObject {
  const after = change(before);
  const isChanged = (path: Path) =>
    canonicalText(valueAt(before, path) ?? null) !== canonicalText(valueAt(after, path) ?? null);
  const entries = entriesOf(before).map((entry) =>
    lessOf(entry, pathsIn(fieldsOf(entry['fieldsV1'])).filter(isChanged)),
  );
  const others = entries.filter((each) => !isOf(each, manager, 'Update'));
  const own = fieldsOf(entries.find((each) => isOf(each, manager, 'Update'))?.['fieldsV1']);
  const changed = pathsIn(fieldsIn(contentOf(after))).filter(isChanged);
  const fieldsV1 = changed.reduce<Fields>((fields, path) => merged(fields, fieldsAt(path)), own);
  return withEntries(asObject(after, before), [...others, { manager, operation: 'Update', fieldsV1 }]);
}

function lessOf(entry: Fields, gone: readonly Path[]): Fields {
  const fieldsV1 = gone.reduce<Fields>(
    (fields, path) =>
      without(
        fields,
        path.map((name) => `f:${name}`),
      ),
    fieldsOf(entry['fieldsV1']),
  );
  return { ...entry, fieldsV1 };
}

function fieldsAt([name = '', ...rest]: Path): Fields {
  return { [`f:${name}`]: rest.length === 0 ? {} : fieldsAt(rest) };
}

function entryOf(manager: string, operation: Operation, sent: Fields | KubernetesObject): Fields {
  return { manager, operation, fieldsV1: fieldsIn(contentOf(sent)) };
}

/** What can be owned. */
function contentOf({ spec, data, metadata }: Fields): Fields {
  const { labels, annotations, ownerReferences } = fieldsOf(metadata);
  return { spec, data, metadata: { labels, annotations, ownerReferences } };
}

function fieldsIn(value: unknown): Fields {
  const names = Object.entries(fieldsOf(value)).filter(([, each]) => each !== undefined);
  return Object.fromEntries(names.map(([name, each]) => [`f:${name}`, fieldsIn(each)]));
}

/** Of all that is owned as a whole. */
function pathsIn(fields: Fields): readonly Path[] {
  return Object.entries(fields).flatMap(([name, inner]) => {
    const paths = pathsIn(fieldsOf(inner));
    return (paths.length === 0 ? [[]] : paths).map((path) => [name.slice(2), ...path]);
  });
}

function owns(fields: Fields, path: Path): boolean {
  return pathsIn(fields).some((each) => each.join('/') === path.join('/'));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, name) => (Array.isArray(inner) ? (inner as unknown[])[Number(name)] : fieldsOf(inner)[name]),
    value,
  );
}

function without(fields: Fields, [name = '', ...rest]: Path): Fields {
  const { [name]: inner, ...others } = fields;
  if (rest.length === 0 || inner === undefined) return others;
  const kept = without(fieldsOf(inner), rest);
  return Object.keys(kept).length === 0 ? others : { ...fields, [name]: kept };
}

function merged(before: Fields, sent: Fields): Fields {
  const fields = Object.entries(sent).filter(([, value]) => value !== undefined);
  const inner = fields.map(([name, value]) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [name, isObject ? merged(fieldsOf(before[name]), fieldsOf(value)) : value];
  });
  return { ...before, ...(Object.fromEntries(inner) as Fields) };
}

function entriesOf({ metadata }: KubernetesObject): readonly Fields[] {
  return listOf(fieldsOf(metadata)['managedFields']);
}

function isOf(entry: Fields, manager: string, operation: Operation): boolean {
  return textOf(entry['manager']) === manager && entry['operation'] === operation;
}

function withEntries(object: KubernetesObject, managedFields: readonly Fields[]): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, managedFields } as KubernetesObject['metadata'] };
}

/** The server alone decides on the rest of the metadata. A change of the spec is a new generation. */
function asObject(fields: Fields, before: KubernetesObject): KubernetesObject {
  const { generation = 1 } = before.metadata;
  const isOther = canonicalText(fields['spec'] ?? null) !== canonicalText(before['spec'] ?? null);
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest: the last of them may be gone
  const { labels, annotations, ownerReferences, ...others } = before.metadata;
  const metadata = { ...others, ...(fieldsOf(fields['metadata']) as Partial<KubernetesObject['metadata']>) };
  return { ...fields, metadata: { ...metadata, generation: isOther ? generation + 1 : generation } };
}
