import type { AnyObject, Scenario } from '../../testing/index.ts';
import { gitBuild } from '../../src/controllers/git-build/controller.ts';
import {
  BINARIES_ANNOTATION,
  BINARY_NAME_ANNOTATION,
  BUILD_FINALIZER,
  PURPOSE_LABEL,
} from '../../src/controllers/git-build/kind.ts';
import { buildLookups } from '../../src/controllers/git-build/lookups.ts';
import { Sharers } from '../../src/controllers/git-build/sharing.ts';
import { BUILD_DEFAULTS, SAMPLE } from './build-samples.ts';

type GitBuild = typeof gitBuild;
type Objects = Record<string, AnyObject | undefined>;

/** An attempt may stop anywhere, and would hold up all that wait for its reading. */
export const GIT_BUILD: GitBuild = {
  ...gitBuild,
  lookups: buildLookups(() => new Sharers(BUILD_DEFAULTS, [])),
};

/** A build whose Job runs on node n1. Each write is judged. */
export const gitBuildScenario: Scenario<GitBuild, { files: string[] }> = {
  resource: { spec: { ...SAMPLE, binaryName: 'x' } },
  // On the disk of the node, which the controller reaches by its Jobs alone.
  outside: { files: [] },
  objects: { 'nodes/n1': {} },
  externalChanges: {
    'somebody deletes the Job': ({ objects }) => {
      const job = jobsIn(objects).find((each) => purposeOf(each) === 'build');
      if (job !== undefined) objects[keyOf('jobs', job)] = undefined;
    },
  },
  happens: {
    'a Job starts a Pod': ({ objects, outside }) => {
      const job = jobsIn(objects).find((each) => isToStart(objects, each));
      if (job === undefined) return;
      const pod = podOf(job);
      objects[keyOf('pods', pod)] = pod;
      objects[keyOf('jobs', job)] = { ...job, status: { active: 1 } };
      const binary = pod.metadata.annotations[BINARY_NAME_ANNOTATION];
      if (binary !== undefined) outside.files = [binary];
    },
    'a Pod succeeds': ({ objects, outside }) => {
      const pod = podsIn(objects).find((each) => isRunning(each) && !isGoing(jobOf(objects, each)));
      if (pod === undefined) return;
      objects[keyOf('pods', pod)] = succeeded(pod);
      const removed = jobOf(objects, pod)?.metadata.annotations[BINARIES_ANNOTATION]?.split(',') ?? [];
      outside.files = outside.files.filter((file) => !removed.includes(file));
    },
    'a Job is complete': ({ objects }) => {
      const job = jobsIn(objects).find((each) => isActive(each) && hasSucceeded(objects, each));
      if (job !== undefined) objects[keyOf('jobs', job)] = completed(job);
    },
    'a Pod goes with its Job': ({ resource, objects }) => {
      // One whose Job somebody else has deleted is given time to end, in which the operator records where it ran.
      const pod = podsIn(objects).find((each) => {
        const job = jobOf(objects, each);
        return job === undefined ? isKnown(resource, each) || !isRunning(each) : isGoing(job);
      });
      if (pod !== undefined) objects[keyOf('pods', pod)] = undefined;
    },
  },
  never({ verb, plural, name, object }, { resource, objects, outside }) {
    const running = jobsIn(objects).find((job) => mayWrite(objects, job))?.metadata.name;
    const { labels, finalizers } = ((object ?? {}) as Partial<Stored>).metadata ?? {};
    if (verb === 'create' && plural === 'jobs') {
      if (running !== undefined) return `Job ${name} is created, and ${running} runs`;
      return labels?.[PURPOSE_LABEL] === 'build' && isBuilt(resource) && `Job ${name} is created in vain`;
    }
    if (plural !== 'xxxes' || finalizers === undefined || finalizers.includes(BUILD_FINALIZER))
      return undefined;
    if (running !== undefined) return `the finalizer goes, and ${running} runs`;
    return outside.files.length > 0 && `the finalizer goes, and ${outside.files.join(', ')} stays`;
  },
  finally({ resource, objects, outside }) {
    if (resource === undefined) return [];
    const { phase = '', artifacts = [] } = statusOf(resource);
    const unknown = outside.files.filter((file) => !artifacts.some(({ binary }) => binary === file));
    return [
      phase !== 'Succeeded' && `it is ${phase} in the end`,
      unknown.length > 0 && `the status does not know ${unknown.join(', ')}`,
      podsIn(objects).some(isRunning) && 'a Pod still runs',
    ];
  },
  // How often something was built depends on what had happened by then.
  outcome: ({ resource, outside }) => ({ isThere: resource !== undefined, files: outside.files }),
};

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

interface Job extends Stored {
  readonly spec: { readonly template: Pick<Stored, 'metadata'> };
  readonly status?: { readonly conditions?: readonly object[] };
}

interface Pod extends Stored {
  readonly status: { readonly phase: 'Running' | 'Succeeded' };
}

function jobsIn(objects: Objects): readonly Job[] {
  return allOf(objects, 'jobs/') as Job[];
}

function podsIn(objects: Objects): readonly Pod[] {
  return allOf(objects, 'pods/') as Pod[];
}

function allOf(objects: Objects, prefix: string): readonly unknown[] {
  const entries = Object.entries(objects);
  return entries
    .filter(([key, object]) => key.startsWith(prefix) && object !== undefined)
    .map(([, object]) => object);
}

function keyOf(plural: 'jobs' | 'pods', { metadata }: Stored): string {
  return `${plural}/${metadata.name}`;
}

function purposeOf({ metadata }: Stored): string | undefined {
  return metadata.labels[PURPOSE_LABEL];
}

/** Source: kubernetes/pkg/apis/batch/types.go, `ControllerUidLabel`. */
const CONTROLLER_UID_LABEL = 'batch.kubernetes.io/controller-uid';

function podOf(job: Job): Pod & { readonly spec: object } {
  const { labels, annotations } = job.spec.template.metadata;
  const { name, uid, creationTimestamp = '' } = job.metadata;
  const its = `${name}-${uid}`;
  return {
    metadata: {
      ...{ name: its, uid: `uid-of-${its}`, annotations, creationTimestamp },
      labels: { ...labels, [CONTROLLER_UID_LABEL]: uid },
    },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running', ...statusesOf(job, { running: {} }) },
  };
}

function statusesOf(its: Stored, state: object): object {
  return { containerStatuses: [{ name: purposeOf(its), state }] };
}

function succeeded(pod: Pod): Pod {
  const terminated = { exitCode: 0, finishedAt: pod.metadata.creationTimestamp };
  return { ...pod, status: { phase: 'Succeeded', ...statusesOf(pod, { terminated }) } };
}

function completed(job: Job): Job {
  const lastTransitionTime = job.metadata.creationTimestamp;
  return { ...job, status: { conditions: [{ type: 'Complete', status: 'True', lastTransitionTime }] } };
}

function jobOf(objects: Objects, { metadata }: Pod): Job | undefined {
  return jobsIn(objects).find((job) => job.metadata.uid === metadata.labels[CONTROLLER_UID_LABEL]);
}

function podsOf(objects: Objects, job: Job): readonly Pod[] {
  return podsIn(objects).filter(({ metadata }) => metadata.labels[CONTROLLER_UID_LABEL] === job.metadata.uid);
}

function isActive({ status }: Job): boolean {
  return status?.conditions === undefined;
}

function isGoing(job: Job | undefined): boolean {
  return job?.metadata.deletionTimestamp !== undefined;
}

function isRunning({ status }: Pod): boolean {
  return status.phase === 'Running';
}

function hasSucceeded(objects: Objects, job: Job): boolean {
  return podsOf(objects, job).some(({ status }) => status.phase === 'Succeeded');
}

function isToStart(objects: Objects, job: Job): boolean {
  return isActive(job) && !isGoing(job) && podsOf(objects, job).length === 0;
}

/** It runs a Pod, or will. */
function mayWrite(objects: Objects, job: Job): boolean {
  return podsOf(objects, job).some(isRunning) || isToStart(objects, job);
}

interface Status {
  readonly phase?: string;
  readonly observedGeneration?: number;
  readonly artifacts?: readonly { readonly binary: string }[];
}

function statusOf(resource: object | undefined): Status {
  return ((resource ?? {}) as { status?: Status }).status ?? {};
}

function isBuilt(
  resource: { readonly metadata: { readonly generation?: number | undefined } } | undefined,
): boolean {
  const { phase, observedGeneration } = statusOf(resource);
  return phase === 'Succeeded' && observedGeneration === resource?.metadata.generation;
}

function isKnown(resource: object | undefined, { metadata }: Pod): boolean {
  const { artifacts = [] } = statusOf(resource);
  return artifacts.some(({ binary }) => binary === metadata.annotations[BINARY_NAME_ANNOTATION]);
}
