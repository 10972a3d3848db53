import type { KubernetesObject } from '../../contract/object.ts';
import type { Condition } from '../condition.ts';
import { fieldsOf, listOf, numberOf, textOf } from './fields.ts';
import { BUILD_FINALIZER, SKIP_CLEANUP_ANNOTATION } from './names.ts';
import { BUILD_PHASES, type Artifact, type BuildStatus } from './resource.ts';
import { checkSpec, isBinaryName, isJobName, type CheckedSpec, type SpecOptions } from './spec.ts';

/** What counts of a build. */
export interface BuildView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  /** All of them, in their order. */
  readonly finalizers: readonly string[];
  readonly skipCleanup: boolean;
  readonly spec: CheckedSpec;
  /** Only what is well-formed: somebody may have written it by hand. Empty where there is none yet. */
  readonly status: Partial<BuildStatus>;
}

export function buildView({ metadata, ...rest }: KubernetesObject, options: SpecOptions): BuildView {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    skipCleanup: metadata.annotations?.[SKIP_CLEANUP_ANNOTATION] === 'true',
    spec: checkSpec(rest['spec'], options),
    status: statusIn(rest['status']),
  };
}

export function hasOurFinalizer({ finalizers }: Pick<BuildView, 'finalizers'>): boolean {
  return finalizers.includes(BUILD_FINALIZER);
}

function statusIn(raw: unknown): Partial<BuildStatus> {
  const fields = fieldsOf(raw);
  const phase = BUILD_PHASES.find((each) => each === fields['phase']);
  const observedGeneration = numberOf(fields['observedGeneration']);
  const jobName = textOf(fields['jobName']);
  const texts = ['binaryName', 'startTime', 'completionTime', 'message', 'workflowId'] as const;
  return {
    ...(phase && { phase }),
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...(jobName !== undefined && isJobName(jobName) && { jobName }),
    ...Object.fromEntries(
      texts.flatMap((name) => (typeof fields[name] === 'string' ? [[name, fields[name]]] : [])),
    ),
    ...('artifacts' in fields && { artifacts: artifactsIn(fields['artifacts']) }),
    ...('conditions' in fields && { conditions: listOf(fields['conditions']).flatMap(conditionIn) }),
  };
}

/** What is no name of a file, no Job of ours is ever told to remove. */
function artifactsIn(raw: unknown): readonly Artifact[] {
  return listOf(raw).flatMap((fields) => {
    const { node, binary } = { node: textOf(fields['node']), binary: textOf(fields['binary']) };
    return node !== undefined && node !== '' && binary !== undefined && isBinaryName(binary)
      ? [{ node, binary }]
      : [];
  });
}

const CONDITION_STATUSES = ['True', 'False', 'Unknown'] as const;

function conditionIn(fields: Readonly<Record<string, unknown>>): Condition[] {
  const status = CONDITION_STATUSES.find((each) => each === fields['status']);
  const [type, reason] = [textOf(fields['type']), textOf(fields['reason'])];
  if (status === undefined || type === undefined || reason === undefined) return [];
  return [
    {
      type,
      status,
      observedGeneration: numberOf(fields['observedGeneration']) ?? 0,
      lastTransitionTime: textOf(fields['lastTransitionTime']) ?? '',
      reason,
      message: textOf(fields['message']) ?? '',
    },
  ];
}
