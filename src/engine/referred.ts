import { typeNameOf, type ResourceType } from '../api/resource-type.ts';
import { type References, type ReferredState } from './controller.ts';
import { type ReferencedObject } from '../api/reference.ts';
import { digestOfTexts } from '../api/digest.ts';

/** What is known of an object that is referred to. */
export interface Referred {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export function isSelectedBy(
  { labels, namespace }: References,
  object: {
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  },
): boolean {
  if (labels === undefined || (namespace !== undefined && namespace !== object.namespace)) return false;
  return Object.entries(labels).every(([name, value]) => object.labels?.[name] === value);
}

/** What a resource refers to in one type, as it is: the objects of the keys in their order, then the others. */
export function referredObjects(
  type: ResourceType,
  keys: readonly string[],
  there: readonly Referred[],
): readonly ReferencedObject[] {
  const found = new Map(there.map(({ key, uid, resourceVersion }) => [key, { uid, resourceVersion }]));
  const all = new Set([...keys, ...[...found.keys()].sort()]);
  return [...all].map((key) => ({ type, ...placeOf(key), ...found.get(key) }));
}

function placeOf(key: string): Pick<ReferencedObject, 'namespace' | 'name'> {
  const [first = '', name] = key.split('/');
  return name === undefined ? { name: first } : { namespace: first, name };
}

/** All that a resource refers to. The digest is another one once an object changes, comes or goes. */
export function stateOf(objects: readonly ReferencedObject[]): ReferredState {
  return { objects, digest: digestOfTexts(objects.map(inWords)) };
}

function inWords({
  type,
  namespace = '',
  name,
  uid = 'absent',
  resourceVersion = '',
}: ReferencedObject): string {
  return `${typeNameOf(type)} ${namespace}/${name} ${uid} ${resourceVersion}`;
}
