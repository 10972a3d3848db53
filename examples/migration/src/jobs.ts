import {
  JOBS,
  childName,
  controllerReference,
  type Kube,
  type KubeReader,
  type KubernetesObject,
} from 'durable-operator';
import type { MigrationResource } from './kind.ts';

export const STAGES = ['backup', 'migrate', 'verify', 'rollback'] as const;
export type Stage = (typeof STAGES)[number];

interface Job extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Taken: the Job of that name belongs to somebody else. */
export type JobState = 'absent' | 'running' | 'succeeded' | 'failed' | 'taken';
/** How far the Job of each stage is. */
export type Progress = Readonly<Record<Stage, JobState>>;

export async function progressOf({ metadata }: MigrationResource, kube: KubeReader): Promise<Progress> {
  const stateOf = async (stage: Stage): Promise<JobState> => {
    const job = await kube.get<Job>({
      type: JOBS,
      namespace: metadata.namespace,
      name: jobName(metadata.name, stage),
    });
    if (job === undefined) return 'absent';
    if (job.metadata.ownerReferences?.[0]?.uid !== metadata.uid) return 'taken';
    return stateOfJob(job);
  };
  const states = await Promise.all(STAGES.map(async (stage) => [stage, await stateOf(stage)] as const));
  return Object.fromEntries(states) as Progress;
}

/** What there is to know of a Job of ours. */
export function stateOfJob(job: Job): JobState {
  const has = (type: string) =>
    job.status?.conditions?.some((each) => each.type === type && each.status === 'True');
  if (has('Complete')) return 'succeeded';
  return has('Failed') ? 'failed' : 'running';
}

/** Its name is the same for each attempt, so that no stage runs twice. */
export async function startJob(resource: MigrationResource, stage: Stage, kube: Kube): Promise<void> {
  const { metadata, spec } = resource;
  const { namespace } = metadata;
  await kube.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(metadata.name, stage),
      namespace,
      ownerReferences: [controllerReference(resource)],
    },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [
            {
              name: stage,
              image: spec.image,
              command: ['sh', '-c', 'eval "$COMMAND"'],
              env: [{ name: 'COMMAND', value: spec[stage] }],
            },
          ],
        },
      },
    },
  });
}

export function jobName(name: string, stage: Stage): string {
  return childName(name, stage);
}
