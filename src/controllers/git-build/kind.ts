import { z } from 'zod';
import {
  defineKind,
  isObjectName,
  type Condition,
  type KubernetesObject,
  type ObjectMeta,
  type ResourceOf,
  type Rule,
  type StatusOf,
} from '../../api/index.ts';

/**
 * What a field of a spec may be. The schema says it, so that most is refused at admission; the operator checks it again before
 * use. The patterns are for both: RE2, as the API server reads them, and JavaScript; hence no lookahead, and no `\s`, which is
 * more characters in JavaScript. Lengths count code points.
 */
interface FieldLimit {
  readonly maxLength: number;
  /** The source of a regular expression, with its anchors. */
  readonly pattern: string;
  /** What the pattern asks for, as it follows "spec.<field> must ". */
  readonly rule: string;
}

export const SPEC_FIELDS = ['gitUrl', 'clonePath', 'buildCommand', 'binaryName', 'jobName'] as const;

/** What to build. A shell reads only `buildCommand` as code. */
export type BuildSpec = Readonly<Record<(typeof SPEC_FIELDS)[number], string>>;

export const LIMITS: Readonly<Record<keyof BuildSpec, FieldLimit>> = {
  /**
   * One colon at a time: `::` names a remote helper of git, as in `ext::sh -c …`. The rest is what URLs are made of; the
   * script quotes it all the same.
   */
  gitUrl: {
    maxLength: 2048,
    pattern: '^[A-Za-z0-9_](:?[A-Za-z0-9._~/@+,=%&?#!\\[\\]-])*$',
    rule:
      'be a URL, or git@host:path: begin with a letter or digit, have no "::", and of other characters only ' +
      '._~/@+,=%&?#![]:-; write others as %XX',
  },
  /** Its segments begin with dots only where something else follows: neither `.` nor `..` nor an empty one is clean. */
  clonePath: {
    maxLength: 1024,
    pattern: '^(/\\.*[A-Za-z0-9_+@~-][A-Za-z0-9._+@~-]*)+$',
    rule: 'be an absolute path without ".", ".." or empty segments, of letters, digits and ._+@~-',
  },
  /** It is shell, and may be anything; one environment variable has to hold it (Linux: 128 KiB of UTF-8). */
  buildCommand: {
    maxLength: 16_384,
    pattern: '^[\\t\\n\\f\\r ]*[^\\x00\\t\\n\\f\\r ][^\\x00]*$',
    rule: 'be a shell command, and not blank',
  },
  /** One segment of a path: a file in the host directory. */
  binaryName: {
    maxLength: 255,
    pattern: '^\\.*[A-Za-z0-9_+@][A-Za-z0-9._+@-]*$',
    rule: 'be the name of a file, without a path, of letters, digits and ._+@-, and not begin with "-"',
  },
  /** So long that the cleanup Job's name is a DNS label, too. */
  jobName: {
    maxLength: 56,
    pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
    rule: 'be a DNS label: lower-case letters, digits and "-", with a letter or digit at both ends',
  },
};

/** What a cleanup Job's name has behind the `jobName`; hence no `jobName` may end in it. */
export const CLEANUP_SUFFIX = '-delete';

/** Nothing is cloned to these, nor below them. The host directory is another such, which is an option. */
export const FORBIDDEN_CLONE_ROOTS: readonly string[] = ['/proc', '/sys', '/dev', '/opt'];

/** The error of a schema pattern quotes the pattern; that of a CEL rule says in words what to write. */
function limited(field: keyof BuildSpec, description: string, rules: readonly Rule[] = []) {
  const { maxLength, pattern, rule } = LIMITS[field];
  // A raw string of CEL, in which a backslash stands for itself.
  const matches = { rule: `self.matches(r'${pattern}')`, message: `spec.${field} must ${rule}` };
  return z
    .string()
    .min(1)
    .max(maxLength)
    .meta({ description, 'x-kubernetes-validations': [matches, ...rules] });
}

function outsideOf(folder: string): Rule {
  return {
    rule: `self != '${folder}' && !self.startsWith('${folder}/')`,
    message: `spec.clonePath must not be ${folder}, nor be below it; clone to another folder, such as /root/src`,
  };
}

const text = (description: string) => z.string().optional().meta({ description });
const time = (description: string) => z.string().optional().meta({ description, format: 'date-time' });

export const BUILD_GROUP = 'test.inspur.com';

export const BUILDS = defineKind({
  group: BUILD_GROUP,
  version: 'v1alpha1',
  plural: 'xxxes',
  kind: 'Xxx',
  shortNames: ['xx'],
  categories: ['durable-operator'],
  description:
    'An Xxx builds a binary from a Git repository, by a Job, and puts it on the node that the Job runs on.',
  spec: z
    .object({
      gitUrl: limited('gitUrl', 'Where the source is cloned from: https://…, ssh://… or git@host:path.'),
      clonePath: limited(
        'clonePath',
        'Where it is cloned to, in the container of the Job: an absolute path.',
        FORBIDDEN_CLONE_ROOTS.map(outsideOf),
      ),
      buildCommand: limited('buildCommand', 'A shell command that builds the binary, run in clonePath.'),
      binaryName: limited(
        'binaryName',
        'The file that buildCommand leaves in clonePath, and that is copied to the host directory of the node.',
      ),
      jobName: limited('jobName', 'The name of the Job that does it; no other resource may use it.', [
        {
          rule: `!self.endsWith('${CLEANUP_SUFFIX}')`,
          message: `spec.jobName must not end in "${CLEANUP_SUFFIX}": so end the names of the Jobs that remove binaries; choose another`,
        },
      ]),
    })
    .meta({ description: 'The source, the command that builds it, and the binary.' }),
  status: z.object({
    phase: z
      .enum(['Pending', 'Building', 'Succeeded', 'Failed', 'Cleaning'])
      .optional()
      .meta({ description: 'The phase of the build.' }),
    jobName: text('The name of the Job that was created last.'),
    binaryName: text('The binary that the Job builds.'),
    artifacts: z
      .array(
        z
          .object({
            node: z.string().meta({ description: 'The name of the Node.' }),
            binary: z.string().meta({ description: 'The name of the file.' }),
          })
          .meta({ description: 'A binary that is, or may be, in the host directory of a node.' }),
      )
      .optional()
      .meta({
        description: 'The binaries on nodes. The operator removes them when the resource is deleted.',
        'x-kubernetes-list-type': 'atomic',
      }),
    startTime: time('When the Job was created.'),
    completionTime: time('When the build ended, whether it succeeded or failed.'),
    message: text('The reason for the phase, for people.'),
    workflowId: text('The ID of the Temporal workflow, whose runs are the history of this resource.'),
  }),
  conditions: 'Ready: the binary of this spec is built. Stalled: somebody has to act. Reconciling: neither.',
  columns: [
    { name: 'Phase', description: 'The phase of the build.', path: '.status.phase' },
    { name: 'Job', description: 'The Job that builds the binary.', path: '.spec.jobName', priority: 1 },
    { name: 'Binary', description: 'The source.', path: '.spec.binaryName', priority: 1 },
    {
      name: 'Message',
      description: 'The reason for the phase, for people.',
      path: '.status.message',
      priority: 1,
    },
  ],
});
export const BUILD_KIND = { apiVersion: `${BUILDS.group}/${BUILDS.version}`, kind: BUILDS.kind } as const;

type AuthorsStatus = StatusOf<typeof BUILDS>;
type Its<Field extends keyof AuthorsStatus> = NonNullable<AuthorsStatus[Field]>;

export type BuildPhase = Its<'phase'>;
/** A binary that was, or may have been, put into the host directory of a node. */
export type Artifact = Readonly<Its<'artifacts'>[number]>;

export type BuildStatus = Partial<AuthorsStatus>;

/** An Xxx as the API server has it. */
export interface StoredBuild extends KubernetesObject {
  readonly spec?: Partial<BuildSpec>;
  readonly status?: BuildStatus & {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly lastHandledReconcileAt?: string;
  };
}

/** An Xxx, parsed. It may have been stored before the schema became stricter. */
export type ParsedBuild = ResourceOf<typeof BUILDS>;

export const BUILD_FINALIZER = `job.finalizers.${BUILD_GROUP}`;
/** A finalizer of Kubernetes: the deletion leaves what the build owns. */
export const ORPHAN_FINALIZER = 'orphan';
/** With the value `true`, a build is deleted without cleanup. */
export const SKIP_CLEANUP_ANNOTATION = 'durable-operator.dev/skip-cleanup';

/** On Jobs and their Pods: the UID of the build. Owner references may be removed. */
export const BUILD_UID_LABEL = 'durable-operator.dev/build-uid';
/** On Jobs and their Pods: what the Job is for. */
export const PURPOSE_LABEL = 'durable-operator.dev/job';
export const JOB_PURPOSES = ['build', 'cleanup'] as const;
export type JobPurpose = (typeof JOB_PURPOSES)[number];

/** Of the label `app.kubernetes.io/managed-by` of Jobs and their Pods. */
export const BUILD_MANAGER = 'durable-operator';

export const BUILD_NAME_ANNOTATION = 'durable-operator.dev/build-name';

/** The longest name of an object. Source: Kubernetes docs, "Object Names and IDs", DNS subdomains. */
export const OBJECT_NAME_MAX = 253;

/** Undefined if no build can have that name: anybody may have written it. */
export function buildNameIn(annotations: ObjectMeta['annotations']): string | undefined {
  const name = annotations?.[BUILD_NAME_ANNOTATION] ?? '';
  return isObjectName(name) ? name : undefined;
}

export const SPEC_HASH_ANNOTATION = 'durable-operator.dev/spec-hash';
export const BINARY_NAME_ANNOTATION = 'durable-operator.dev/binary-name';
/** On cleanup Jobs: the node. */
export const NODE_ANNOTATION = 'durable-operator.dev/node';
/** On cleanup Jobs: what is removed there, with commas. */
export const BINARIES_ANNOTATION = 'durable-operator.dev/binaries';
/** The most that one Job removes. The next Job removes the rest. */
export const BINARIES_MAX = 16;
