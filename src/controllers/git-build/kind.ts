import { z } from 'zod';
import { defineKind, type Rule } from '../../api/kind.ts';
import { BUILD_PHASES, BUILDS } from './resource.ts';
import { CLEANUP_SUFFIX, FORBIDDEN_CLONE_ROOTS, LIMITS, type FieldLimit } from './spec.ts';

/** The error of a schema pattern quotes the pattern; that of a CEL rule says in words what to write. */
function limited(field: keyof typeof LIMITS, description: string, rules: readonly Rule[] = []) {
  const { maxLength, pattern, rule }: FieldLimit = LIMITS[field];
  const matches = { rule: `self.matches(${celText(pattern)})`, message: `spec.${field} must ${rule}` };
  return z
    .string()
    .min(1)
    .max(maxLength)
    .meta({ description, 'x-kubernetes-validations': [matches, ...rules] });
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

const text = (description: string) => z.string().optional().meta({ description });
const time = (description: string) => z.iso.datetime().optional().meta({ description });

/** The schema and the columns of an Xxx. */
export const BuildKind = defineKind({
  ...BUILDS,
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
    phase: z.enum(BUILD_PHASES).optional().meta({ description: 'The phase of the build.' }),
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
