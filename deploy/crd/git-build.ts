import {
  BUILD_KIND,
  BUILD_PHASES,
  BUILDS,
  type Artifact,
  type BuildSpec,
  type BuildStatus,
} from '../../src/controllers/git-build/resource.ts';
import {
  CLEANUP_SUFFIX,
  FORBIDDEN_CLONE_ROOTS,
  LIMITS,
  type FieldLimit,
} from '../../src/controllers/git-build/spec.ts';
import { conditions, LAST_HANDLED, OBSERVED_GENERATION } from './conditions.ts';
import { AGE, customResourceDefinition, READY, REASON } from './definition.ts';
import { objectOf, type Rule, type TextSchema } from './schema.ts';

type Field = keyof typeof LIMITS;

/** The error of a schema pattern quotes the pattern; that of a CEL rule says in words what to write. */
function limited(field: Field, description: string, rules: readonly Rule[] = []): TextSchema {
  const limit: FieldLimit = LIMITS[field];
  return {
    description,
    type: 'string',
    minLength: 1,
    maxLength: limit.maxLength,
    'x-kubernetes-validations': [
      { rule: `self.matches(${celText(limit.pattern)})`, message: `spec.${field} must ${limit.rule}` },
      ...rules,
    ],
  };
}

/** A raw string, in which a backslash stands for itself: the CEL language definition, "String and Bytes Values". */
function celText(text: string): string {
  if (text.includes("'")) throw new Error(`a quote would end the string in CEL: ${text}`);
  return `r'${text}'`;
}

function outsideOf(folder: string): Rule {
  return {
    rule: `self != '${folder}' && !self.startsWith('${folder}/')`,
    message: `spec.clonePath must not be ${folder}, nor be below it; clone to another folder, such as /root/src`,
  };
}

const spec = objectOf<BuildSpec>({
  description: 'The source, the command that builds it, and the binary.',
  properties: {
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
  },
});

const artifact = objectOf<Artifact>({
  description: 'A binary that is, or may be, in the host directory of a node.',
  properties: {
    node: { description: 'The name of the Node.', type: 'string' },
    binary: { description: 'The name of the file.', type: 'string' },
  },
});

const status = objectOf<Partial<BuildStatus>>({
  description: 'The observed state. The operator writes it.',
  optional: 'all',
  properties: {
    phase: { description: 'The phase of the build.', type: 'string', enum: BUILD_PHASES },
    jobName: { description: 'The name of the Job that was created last.', type: 'string' },
    binaryName: { description: 'The binary that the Job builds.', type: 'string' },
    artifacts: {
      description: 'The binaries on nodes. The operator removes them when the resource is deleted.',
      type: 'array',
      'x-kubernetes-list-type': 'atomic',
      items: artifact,
    },
    startTime: { description: 'When the Job was created.', type: 'string', format: 'date-time' },
    completionTime: {
      description: 'When the build ended, whether it succeeded or failed.',
      type: 'string',
      format: 'date-time',
    },
    message: { description: 'The reason for the phase, for people.', type: 'string' },
    observedGeneration: OBSERVED_GENERATION,
    conditions: conditions(
      'Ready: the binary of this spec is built. Stalled: somebody has to act. Reconciling: neither.',
    ),
    workflowId: {
      description: 'The ID of the Temporal workflow, whose runs are the history of this resource.',
      type: 'string',
    },
    ...LAST_HANDLED,
  },
});

export const buildDefinition = customResourceDefinition({
  group: BUILDS.group,
  version: BUILDS.version,
  names: {
    kind: BUILD_KIND.kind,
    plural: BUILDS.plural,
    singular: 'xxx',
    shortNames: BUILDS.shortNames ?? [],
  },
  description:
    'An Xxx builds a binary from a Git repository, by a Job, and puts it on the node that the Job runs on.',
  spec,
  status,
  columns: [
    { name: 'Phase', type: 'string', description: 'The phase of the build.', jsonPath: '.status.phase' },
    READY,
    REASON,
    AGE,
    {
      name: 'Job',
      type: 'string',
      description: 'The Job that builds the binary.',
      jsonPath: '.spec.jobName',
      priority: 1,
    },
    {
      name: 'Binary',
      type: 'string',
      description: 'The source.',
      jsonPath: '.spec.binaryName',
      priority: 1,
    },
    {
      name: 'Message',
      type: 'string',
      description: 'The reason for the phase, for people.',
      jsonPath: '.status.message',
      priority: 1,
    },
  ],
});
