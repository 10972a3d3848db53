import { ApiError } from '../api/api-error.ts';
import type { ResourceType as DescribedType } from '../api/resource-type.ts';

/** As much of a resource type as its paths need. */
export type PathType = Pick<DescribedType, 'group' | 'version' | 'plural'>;

export interface ResourceLocation {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/**
 * The URL path of a resource: `/api/v1/namespaces/default/pods/web/status`; without a name, its collection;
 * without a namespace, that of all namespaces. Source: the Kubernetes API concepts page, "Resource URIs".
 *
 * @throws ApiError where a name would lead to another resource
 */
export function resourcePath(type: PathType, location: ResourceLocation = {}): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const { namespace, name, subresource } = location;
  const named = (what: string) => segment(what, type);
  const scope = namespace === undefined ? '' : `/namespaces/${named(namespace)}`;
  const object = name === undefined ? '' : `/${named(name)}`;
  return `${root}${scope}/${type.plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** URLs are normalized, so that an empty name stands for the collection, and `..` for the namespace. */
const NO_NAMES: readonly string[] = ['', '.', '..'];

function segment(name: string, { plural }: PathType): string {
  if (!NO_NAMES.includes(name)) return encodeURIComponent(name);
  const words = `a name is needed, but it is ${JSON.stringify(name)}`;
  throw new ApiError(`${plural}: ${words}`, { classification: 'refused', words });
}
