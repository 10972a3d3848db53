import type { ResourceType as DescribedType } from '../contract/controller.ts';

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
 */
export function resourcePath(type: PathType, location: ResourceLocation = {}): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const { namespace, name, subresource } = location;
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${type.plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}
