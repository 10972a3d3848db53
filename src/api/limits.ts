import { millisecondsIn } from './duration.ts';
import { truncate } from './text.ts';

/*
 * What definitions and decisions may say, by the limits of labels, CRDs, workflow ids and flags. The docs of each member have the same.
 */

interface NameLimit {
  /** What it is the name of. */
  readonly what: string;
  readonly pattern: RegExp;
  readonly most: number;
  /** The pattern in words, with an example. */
  readonly is: string;
}

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
/** Source: apimachinery, `IsDNS1035Label`, which is what apiextensions asks of names in a CRD. */
const DNS_LABEL = { pattern: /^[a-z]([a-z0-9-]*[a-z0-9])?$/, most: 63 } as const;
const DNS_LABEL_IS = 'lower-case letters, digits and "-", with a letter first and no "-" at the end';

const NAMES = {
  /** In workflow ids, where the name of the resource has what is left. */
  controller: {
    what: 'the name',
    pattern: KEBAB_CASE,
    most: 63,
    is: 'lower-case words joined by "-", such as "image-scan"',
  },
  /** Of a chart, of which Helm takes 53 characters, and of a Namespace that ends in `-system`. */
  operator: {
    what: 'the name',
    pattern: KEBAB_CASE,
    most: 52,
    is: 'lower-case words joined by "-", such as "bucket-operator"',
  },
  /** An activity in Temporal, and a label of metrics. */
  step: {
    what: 'the step',
    pattern: /^[A-Za-z][A-Za-z0-9_-]*$/,
    most: 63,
    is: 'letters, digits, "-" and "_", with a letter first, such as "createBucket"',
  },
  lookup: {
    what: 'the lookup',
    pattern: /^(?!node$)[a-z][A-Za-z0-9]*$/,
    most: 63,
    is: 'in camelCase, and not "node", which the library has, such as "backups"',
  },
  /** A flag: `--no-` before the name of another would turn that off. */
  option: {
    what: 'the option',
    pattern: /^(?!(?:help|version|config)$|no[A-Z])[a-z][A-Za-z0-9]*$/,
    most: 63,
    is: 'in camelCase, neither "help", "version" nor "config", and without "no" before a name, such as "storeUrl"',
  },
  /** Source: apimachinery, `IsQualifiedName`; Kubernetes asks for a domain where the API server does not. */
  finalizer: {
    what: 'the finalizer',
    pattern:
      /^(?:(?=[^/]{1,253}\/)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\/(?=[^/]{1,63}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+)$/,
    most: 317,
    is: 'a domain in lower case, "/" and a name of at most 63 letters, digits, "-", "_" and ".", such as "example.com/bucket", or a domain of at most 63 characters, as finalizers once were',
  },
  /** The CRD is named `<plural>.<group>`. Source: apiextensions, `validateAPIApproval`. */
  group: {
    what: 'the group',
    pattern:
      /^(?!(?:.*\.)?(?:k8s|kubernetes)\.io$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    most: 189,
    is: 'a domain in lower case with a dot in it, and none of k8s.io and kubernetes.io without the annotation api-approved.kubernetes.io, such as "example.com"',
  },
  approvedGroup: {
    what: 'the group',
    pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    most: 189,
    is: 'a domain in lower case with a dot in it, such as "example.com"',
  },
  version: { what: 'the version', ...DNS_LABEL, is: `${DNS_LABEL_IS}, such as "v1"` },
  /** With `List`, it is the name of a list. */
  kind: {
    what: 'the kind',
    pattern: /^[A-Z][A-Za-z0-9]*(?<!List)$/,
    most: 59,
    is: 'in CamelCase, and not end in "List", such as "Website"',
  },
  plural: { what: 'the plural', ...DNS_LABEL, is: `${DNS_LABEL_IS}, such as "websites"` },
  shortName: { what: 'the short name', ...DNS_LABEL, is: `${DNS_LABEL_IS}, such as "web"` },
  category: { what: 'the category', ...DNS_LABEL, is: `${DNS_LABEL_IS}, such as "all"` },
  /** Source: apimachinery, `metav1.Condition`. */
  reason: {
    what: 'the reason',
    pattern: /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/,
    most: 1024,
    is: 'in CamelCase, of letters, digits and "_", such as "NoQuota"',
  },
} as const satisfies Readonly<Record<string, NameLimit>>;

/** As a schema has it. */
export const REASON: Pick<NameLimit, 'pattern' | 'most'> = NAMES.reason;

const DURATIONS = {
  /** A timer of Node is no longer. */
  pollInterval: { from: '10s', to: '24d', such: '10m' },
  timeout: { from: '10s', to: '1h', such: '15m' },
  retry: { from: '1ms', to: '24d', such: '5s' },
} as const;

const SHOWN_MAX = 80;

/** What is wrong with a name, in one sentence; undefined: nothing. */
export function misnamed(limit: keyof typeof NAMES, name: string | undefined): string | undefined {
  const { what, pattern, most, is }: NameLimit = NAMES[limit];
  if (name === undefined || (name.length <= most && pattern.test(name))) return undefined;
  return `${what} ${JSON.stringify(truncate(name, SHOWN_MAX))} must be ${is}, of at most ${most} characters`;
}

/** Likewise of a duration. @param what it is: `the timeout of step provision` */
export function mistimed(
  limit: keyof typeof DURATIONS,
  what: string,
  duration: string | undefined,
): string | undefined {
  if (duration === undefined) return undefined;
  const { from, to, such } = DURATIONS[limit];
  const [ms, least = 0, most = 0] = [duration, from, to].map(millisecondsIn);
  if (ms !== undefined && ms >= least && ms <= most) return undefined;
  return `${what} is ${JSON.stringify(truncate(duration, SHOWN_MAX))}, but must be a duration from ${from} to ${to}, such as "${such}"`;
}

/** @throws Error with the first problem, if there is one */
export function refuse(whose: string, problems: readonly (string | false | undefined)[]): void {
  const problem = problems.find((each) => typeof each === 'string');
  if (problem !== undefined) throw new Error(`${truncate(whose, SHOWN_MAX)}: ${problem}`);
}
