import { z } from 'zod';
import { auditLines, type ApiCall } from './audit-log.ts';
import { userNameOf, type ServiceAccount } from './service-account.ts';

const Role = z.object({
  kind: z.enum(['Role', 'ClusterRole']),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()).default([]),
      resources: z.array(z.string()).default([]),
      verbs: z.array(z.string()),
    }),
  ),
});

const Binding = z.object({
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string() })),
});

/** What the roles among some objects allow a service account: `patch pods`, `create events.events.k8s.io`. */
export function grantedTo(
  account: ServiceAccount,
  objects: readonly { readonly kind: string }[],
): readonly string[] {
  const bound = objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .map((object) => Binding.parse(object))
    .filter(({ subjects }) => subjects.some((each) => userNameOf(each) === userNameOf(account)))
    .map(({ roleRef: { kind, name } }) => `${kind} ${name}`);
  const roles = objects
    .map((object) => Role.safeParse(object))
    .flatMap(({ data }) =>
      data !== undefined && bound.includes(`${data.kind} ${data.metadata.name}`) ? data : [],
    );
  return unique(roles.flatMap(({ rules }) => rules.flatMap(permissionsIn)));
}

function permissionsIn({ apiGroups, resources, verbs }: z.infer<typeof Role>['rules'][number]): string[] {
  return apiGroups.flatMap((apiGroup) =>
    resources.flatMap((resource) => verbs.map((verb) => permission({ verb, resource, apiGroup }))),
  );
}

interface Permission {
  readonly verb: string;
  /** `pods`, `podsets/status` */
  readonly resource: string;
  /** Empty for the core API. */
  readonly apiGroup: string;
}

/** Written as kubectl names resources. */
function permission({ verb, resource, apiGroup }: Permission): string {
  const [name = '', subresource] = resource.split('/');
  const qualified = apiGroup === '' ? name : `${name}.${apiGroup}`;
  return `${verb} ${qualified}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** Something that a service account has asked for, in the whole run of the tests. */
export interface AccessRequest {
  /** As `grantedTo` writes it; a path where it was about no object. */
  readonly what: string;
  readonly namespace: string;
  readonly decision: 'allow' | 'forbid';
}

/**
 * Everything that the operator has asked for as a service account, and what the authorizer said. Tests ask by kubectl, or as version
 * `test`.
 */
export function askedBy(
  account: ServiceAccount,
  auditLog: string,
  program = 'durable-operator',
): readonly AccessRequest[] {
  return auditLines(userNameOf(account), auditLog)
    .filter(({ userAgent }) => userAgent.startsWith(`${program}/`) && !userAgent.endsWith('/test'))
    .flatMap(({ verb, objectRef, requestURI, responseStatus, annotations }) =>
      verbsOf(verb, responseStatus?.code).map((each) => ({
        what: objectRef === undefined ? `${each} ${requestURI}` : whatOf(each, objectRef),
        namespace: objectRef?.namespace ?? '',
        decision: annotations['authorization.k8s.io/decision'] === 'forbid' ? 'forbid' : 'allow',
      })),
    );
}

/** Of an apply that creates, the server asks for both rights, and the log names one. Source: apiserver, endpoints/installer.go. */
function verbsOf(verb: string, code: number | undefined): readonly string[] {
  return verb === 'patch' && code === 201 ? ['patch', 'create'] : [verb];
}

function whatOf(
  verb: string,
  { resource, subresource, apiGroup }: NonNullable<ApiCall['objectRef']>,
): string {
  return permission({
    verb,
    apiGroup,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
  });
}

export function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** What the library needs only at times: with several processes, or when something goes wrong. The API server asks for finalizers itself. */
const AT_TIMES = /^(get|create|update) leases|^(create|patch) events|^update .*\/finalizers$/;

/**
 * @param unused rights that need not be used
 * @throws Error that names what the account was denied, and what it never used
 */
export function expectLeastPrivilege({
  account,
  objects,
  auditLog,
  unused,
}: {
  readonly account: ServiceAccount;
  readonly objects: readonly { readonly kind: string }[];
  readonly auditLog: string;
  readonly unused: readonly string[];
}): void {
  const asked = askedBy(account, auditLog, account.name);
  const denied = unique(asked.flatMap(({ decision, what }) => (decision === 'forbid' ? what : [])));
  const used = new Set(asked.map(({ what }) => what));
  const idle = grantedTo(account, objects).filter(
    (what) => !used.has(what) && !unused.includes(what) && !AT_TIMES.test(what),
  );
  const problems = [
    ...(denied.length === 0
      ? []
      : [
          `${account.name} was denied: ${denied.join(', ')}; add it to permissions, and run npm run generate`,
        ]),
    ...(idle.length === 0
      ? []
      : [
          `${account.name} never used: ${idle.join(', ')}; let a test use it, name it in { unused }, or take it out of permissions, if it is there`,
        ]),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}
