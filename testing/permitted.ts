import type { PolicyRule } from '../src/api/policy-rule.ts';
import { placeIn, type Request } from './explorer/api-server.ts';
import { Violation } from './explorer/explorer.ts';

const VERBS = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete', CALL: 'call' } as const;

/** @throws Violation where no rule allows the request */
export function unpermitted(request: Pick<Request, 'method' | 'path'>, rules: readonly PolicyRule[]): void {
  const { group, resource, name, verb } = accessOf(request);
  const isAllowed = rules.some(
    ({ apiGroups, resources, verbs, resourceNames }) =>
      has(apiGroups, group) &&
      has(resources, resource) &&
      has(verbs, verb) &&
      (resourceNames === undefined || (name !== undefined && resourceNames.includes(name))),
  );
  if (isAllowed) return;
  const of = group === '' ? '' : ` of ${group}`;
  throw new Violation(
    `it has no right to ${verb} ${resource}${of}: add it to the permissions of the controller, allow(…, ['${verb}'])`,
  );
}

function has(list: readonly string[], wanted: string): boolean {
  return list.includes(wanted) || list.includes('*');
}

/** As RBAC sees a request. */
export function accessOf({ method, path }: Pick<Request, 'method' | 'path'>) {
  const group = path.startsWith('/api/') ? '' : (path.split('/')[2] ?? '');
  const { plural, name, subresource } = placeIn(path);
  const verb = method === 'GET' ? (name === undefined ? 'list' : 'get') : VERBS[method];
  return { group, name, verb, resource: subresource === undefined ? plural : `${plural}/${subresource}` };
}
