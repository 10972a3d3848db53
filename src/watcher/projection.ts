import { hash } from 'node:crypto';
import type { Controller, Watched } from '../contract/controller.ts';
import type { KubernetesObject } from '../contract/object.ts';

/** What the watcher keeps of an object. */
export interface Projection {
  /** The object's own: `<namespace>/<name>`, or `<name>` where it is cluster-scoped. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface PrimaryProjection extends Projection {
  readonly view: unknown;
  /** Its generation, deletion and our annotations: what is news to an open run of any controller. */
  readonly inputs: string;
}

export interface ChildProjection extends Projection {
  readonly view: unknown;
  /** The key of the resource that it belongs to. */
  readonly ownerKey: string;
}

const OUR_ANNOTATIONS = 'durable-operator.dev/';

export function projectPrimary(watched: Controller['primary'], object: KubernetesObject) {
  const view = watched.view(object);
  return view === undefined ? undefined : { ...identityOf(object), view, inputs: inputsOf(object) };
}

export function projectChild(
  watched: Controller['children'][number],
  object: KubernetesObject,
): ChildProjection | undefined {
  const ownerKey = watched.ownerKey(object);
  if (ownerKey === undefined) return undefined;
  const view = watched.view(object);
  return view === undefined ? undefined : { ...identityOf(object), view, ownerKey };
}

export function identityOf({ metadata }: KubernetesObject): Projection {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}

function inputsOf({ metadata }: KubernetesObject): string {
  const { generation, deletionTimestamp, annotations = {} } = metadata;
  const ours = Object.entries(annotations)
    .filter(([name]) => name.startsWith(OUR_ANNOTATIONS))
    .map(([name, value]) => `${name}=${value}`)
    .sort();
  const parts = [
    ...(generation === undefined ? [] : [`generation ${generation}`]),
    ...(deletionTimestamp === undefined ? [] : ['deleted']),
    ...ours,
  ];
  return comparable(parts.join(', '));
}

/** Longer texts are kept as a hash. */
const READABLE_MAX = 200;

/** What is kept of a text that is only compared: anyone may write 256 KiB of annotations on each of a thousand objects. */
export function comparable(text: string): string {
  return text.length <= READABLE_MAX ? text : `sha256 ${hash('sha256', text)}`;
}

/** The type of what is watched and what is left out, as far as a watch is concerned. */
export type WatchedKind = Pick<Watched<unknown>, 'type' | 'metadataOnly' | 'fieldSelector' | 'labelSelector'>;
