import type { Journalled } from '../../testing/stack/api-proxy.ts';
import type { Place } from './place.ts';

/** Which requests of the operator a fault is about. */
export interface Requests {
  readonly kind: 'write' | 'read' | 'watch' | 'any';
  /** The plural, such as `pods`. Default: any. */
  readonly resource?: string;
  /** Default: any. */
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  /** Default: both. */
  readonly namespace?: 'home' | 'team';
}

export function matches(
  { kind, resource, method, namespace }: Requests,
  { about, isWatch, ...request }: Journalled,
  place: Place,
): boolean {
  // What the operator records for people alone is no write to anything.
  if (about.resource === 'events') return false;
  if (kind !== 'any' && kind !== kindOf(request.method, isWatch)) return false;
  if (resource !== undefined && resource !== about.resource) return false;
  if (method !== undefined && method !== request.method) return false;
  return namespace === undefined || about.namespace === place[namespace];
}

function kindOf(method: string, isWatch: boolean): Requests['kind'] {
  if (isWatch) return 'watch';
  return method === 'GET' ? 'read' : 'write';
}
