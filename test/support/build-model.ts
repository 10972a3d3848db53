import { unreachable } from '../../src/contract/unreachable.ts';
import type { BuildView } from '../../src/controllers/build/build-view.ts';
import { decideBuild, isSettled } from '../../src/controllers/build/decide.ts';
import { isRefused } from '../../src/controllers/build/invalid-spec.ts';
import type { JobView } from '../../src/controllers/build/job-view.ts';
import { BUILD_FINALIZER } from '../../src/controllers/build/names.ts';
import {
  fold,
  type Answer,
  type EndStep,
  type Observation,
  type Step,
} from '../../src/controllers/build/observation.ts';
import type { PodView } from '../../src/controllers/build/pod-view.ts';
import type { BuildStatus } from '../../src/controllers/build/resource.ts';
import { checkSpec, type CheckedSpec } from '../../src/controllers/build/spec.ts';
import { BUILD_DEFAULTS, SAMPLE } from './builds.ts';

/*
 * A small abstract cluster with one build, in which the operator's real decisions are explored exhaustively: whatever
 * may happen next is tried next, from every state that can come about.
 */

export const SPECS = {
  x: checkSpec({ ...SAMPLE, jobName: 'job', binaryName: 'x' }, BUILD_DEFAULTS),
  /** Another binary. */
  y: checkSpec({ ...SAMPLE, jobName: 'job', binaryName: 'y' }, BUILD_DEFAULTS),
  /** Another Job, and the same binary. */
  renamed: checkSpec({ ...SAMPLE, jobName: 'other-job', binaryName: 'x' }, BUILD_DEFAULTS),
  invalid: checkSpec({ ...SAMPLE, gitUrl: 'ext::sh' }, BUILD_DEFAULTS),
} as const satisfies Record<string, CheckedSpec>;

/** How often each of these may still happen. */
export interface Faults {
  /** The operator dies after a write, before it knows of it. */
  readonly crashes: number;
  readonly jobsDeleted: number;
  readonly buildsFail: number;
  readonly cleanupsFail: number;
  readonly nodesGo: number;
  readonly deletions: number;
  /** To these, one after the other. */
  readonly specs: readonly (keyof typeof SPECS)[];
}

export interface World {
  readonly build: BuildView | undefined;
  readonly jobs: readonly JobView[];
  readonly pods: readonly ModelPod[];
  /** `<node>/<binary>` */
  readonly disks: readonly string[];
  readonly nodes: readonly string[];
  /** What the pass in hand knows; undefined where none is. */
  readonly pass: Observation | undefined;
  readonly faults: Faults;
  /** The UIDs of Jobs that somebody else has deleted. */
  readonly deletedByOthers: readonly string[];
  /** For resource versions and UIDs. */
  readonly serial: number;
}

interface ModelPod extends PodView {
  readonly jobUid: string;
}

/** What may happen, in words, and the world after it. `isFault`: it need not happen. */
export interface Event {
  readonly what: string;
  readonly isFault: boolean;
  readonly after: World;
}

export class Violation extends Error {}

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const LONG_AGO = '2026-11-21T00:00:00Z';
const JUST_NOW = '2026-11-21T12:00:00Z';

export function aWorld(faults: Partial<Faults>, foreign: readonly string[] = []): World {
  const none = { crashes: 0, jobsDeleted: 0, buildsFail: 0, cleanupsFail: 0, nodesGo: 0, deletions: 0 };
  return {
    build: {
      namespace: 'shop',
      name: 'sample',
      uid: 'build-uid',
      resourceVersion: '1',
      generation: 1,
      deleting: false,
      finalizers: [],
      skipCleanup: false,
      spec: SPECS.x,
      status: {},
    },
    jobs: foreign.map((name) => aJob({ name, uid: `foreign-${name}`, buildUid: 'foreign', state: 'active' })),
    pods: [],
    disks: [],
    nodes: ['n1', 'n2'],
    pass: undefined,
    faults: { ...none, specs: [], ...faults },
    deletedByOthers: [],
    serial: 1,
  };
}

function aJob(fields: Partial<JobView>): JobView {
  return {
    name: 'job',
    uid: '',
    resourceVersion: '',
    buildUid: 'build-uid',
    buildName: 'sample',
    owned: true,
    purpose: 'build',
    state: 'active',
    deleting: false,
    hash: '',
    binary: '',
    node: '',
    binaries: [],
    attempt: 1,
    createdAt: LONG_AGO,
    endedAt: '',
    failure: '',
    failureMessage: '',
    ...fields,
  };
}

/** All that may happen next. */
export function eventsIn(world: World): readonly Event[] {
  return [
    ...operatorEvents(world),
    ...world.jobs.flatMap((job) => jobEvents(world, job)),
    ...world.pods.flatMap((pod) => podEvents(world, pod)),
    ...userEvents(world),
  ];
}

// The operator ---------------------------------------------------------------------------------------------

function operatorEvents(world: World): Event[] {
  const { pass, faults } = world;
  if (pass === undefined) return passesToBegin(world).map(([what, after]) => event(what, after));
  const step = decideBuild(pass, NOW_MS);
  if (isEnd(step)) return [event(`the pass ends: ${step.do}`, { ...world, pass: undefined })];
  const [after, answer] = performed(world, step);
  const next = { ...after, pass: fold(pass, answer) };
  const events = [event(describe(step), next)];
  if (faults.crashes > 0 && step.do !== 'look') {
    const crashed = { ...after, pass: undefined, faults: { ...faults, crashes: faults.crashes - 1 } };
    events.push({ what: `${describe(step)}, and a crash`, isFault: true, after: crashed });
  }
  return events;
}

/** A pass without anything seen, and one that goes by what the watcher sees just now. */
function passesToBegin(world: World): [string, World][] {
  const begin = (pass: Observation): World => ({ ...world, pass });
  const { build } = world;
  const unread: [string, World] = ['a pass begins', begin({})];
  if (build === undefined) return [unread];
  const { resourceVersion, generation, status, finalizers } = build;
  const ours = finalizers.includes(BUILD_FINALIZER);
  if (build.deleting && ours && status.completionTime !== undefined && status.phase !== 'Cleaning') {
    return [
      unread,
      ['a pass begins to clean', begin({ seen: { step: 'start-cleaning', resourceVersion, generation } })],
    ];
  }
  if (!build.deleting && finalizers.length === 0 && Object.keys(status).length === 0 && build.spec.ok) {
    return [
      unread,
      ['a pass begins afresh', begin({ seen: { step: 'add-finalizer', resourceVersion, generation } })],
    ];
  }
  return [unread];
}

function isEnd(step: Step): step is EndStep {
  return ['converged', 'wait', 'stalled', 'give-up'].includes(step.do);
}

function describe(step: Step): string {
  if (step.do === 'look') return `looks at ${step.at}`;
  if (step.do === 'write-status') return `writes status ${step.status.phase ?? ''}`;
  if (step.do === 'delete-job') return `deletes Job ${step.job.uid} in the ${step.propagation}`;
  return step.do === 'create-cleanup' ? `creates cleanup on ${step.wanted.node}` : step.do;
}

/** What the API server does, and how it answers. */
function performed(world: World, step: Exclude<Step, EndStep>): [World, Answer] {
  const { build, jobs } = world;
  const conflict: [World, Answer] = [world, { got: 'conflict' }];
  switch (step.do) {
    case 'look':
      return [world, looked(world, step)];
    case 'add-finalizer':
    case 'remove-finalizer': {
      if (build?.resourceVersion !== step.resourceVersion) return conflict;
      if (step.do === 'add-finalizer' && build.deleting)
        throw new Violation('a finalizer returns while deleting');
      if (step.do === 'remove-finalizer') checkCleaned(world);
      const [next, written] = versioned(world, { ...build, finalizers: step.finalizers });
      const isGone = written.deleting && written.finalizers.length === 0;
      return [
        { ...next, build: isGone ? undefined : written },
        { got: 'written', build: written },
      ];
    }
    case 'write-status': {
      if (build?.resourceVersion !== step.resourceVersion) return conflict;
      const merged = Object.entries({ ...build.status, ...step.status }).filter(
        ([, value]) => value !== null,
      );
      const status: Partial<BuildStatus> = Object.fromEntries(merged);
      const [next, written] = versioned(world, { ...build, status });
      return [
        { ...next, build: written },
        { got: 'written', build: written },
      ];
    }
    case 'delete-job': {
      const job = jobs.find(({ uid }) => uid === step.job.uid);
      if (job?.buildUid === 'foreign') throw new Violation('the Job of somebody else is deleted');
      if (job === undefined) return [world, { got: 'deleted', job: step.job, now: 'gone' }];
      if (job.resourceVersion !== step.job.resourceVersion) return conflict;
      if (step.propagation === 'Background') {
        return [withoutJob(world, job), { got: 'deleted', job, now: 'gone' }];
      }
      const next = withJob(world, { ...job, deleting: true });
      const now = next.jobs.find(({ uid }) => uid === job.uid) ?? 'gone';
      return [next, { got: 'deleted', job, now }];
    }
    case 'create-build': {
      if (build?.finalizers.includes(BUILD_FINALIZER) !== true)
        throw new Violation('a Job without finalizer');
      const { jobName: name, binaryName: binary } = step.spec;
      return createdJob(world, { name, binary, hash: step.hash, purpose: 'build' });
    }
    case 'create-cleanup': {
      const { jobName: name, node, binaries, attempt } = step.wanted;
      return createdJob(world, { name, node, binaries, attempt, purpose: 'cleanup' });
    }
    default:
      return unreachable(step);
  }
}

function looked({ build, jobs, pods, nodes }: World, step: Extract<Step, { do: 'look' }>): Answer {
  switch (step.at) {
    case 'build':
      return { got: 'build', build: build ?? 'gone' };
    case 'jobs':
      return { got: 'jobs', jobs: jobs.filter(({ buildUid }) => buildUid === 'build-uid') };
    case 'pods':
      return { got: 'pods', pods };
    case 'node':
      return { got: 'node', node: step.node, state: nodes.includes(step.node) ? 'there' : 'gone' };
    case 'name':
      return { got: 'name-taken', name: step.name, by: ownerOf(jobs, step.name) };
  }
}

/** Nothing of the build may be left anywhere, nor anything that could put it back. */
function checkCleaned(world: World): void {
  const { disks, jobs, pods } = world;
  if (disks.length > 0) throw new Violation(`the finalizer goes, and ${disks.join()} stays`);
  if (jobs.some((job) => isRunning(world, job)))
    throw new Violation('the finalizer goes, and a Job still runs');
  if (pods.some(({ purpose, phase }) => purpose === 'build' && phase === 'unfinished')) {
    throw new Violation('the finalizer goes, and a Pod still builds');
  }
}

function versioned(world: World, build: BuildView): [World, BuildView] {
  const serial = world.serial + 1;
  return [
    { ...world, serial },
    { ...build, resourceVersion: String(serial) },
  ];
}

function createdJob(world: World, fields: Partial<JobView>): [World, Answer] {
  const { name = '' } = fields;
  const there = world.jobs.find((job) => job.name === name);
  if (there !== undefined) {
    return [world, { got: 'name-taken', name, by: ownerOf(world.jobs, name) }];
  }
  const serial = world.serial + 1;
  const job = aJob({ ...fields, uid: `job-${serial}`, resourceVersion: `${serial}` });
  const next = { ...world, serial, jobs: [...world.jobs, job] };
  checkJobs(next);
  return [next, { got: 'created', job }];
}

function ownerOf(jobs: readonly JobView[], name: string): JobView | 'foreign' | 'gone' {
  const job = jobs.find((each) => each.name === name);
  return job?.buildUid === 'foreign' ? 'foreign' : (job ?? 'gone');
}

function checkJobs(world: World): void {
  const running = world.jobs.filter((job) => isRunning(world, job));
  if (running.filter(({ purpose }) => purpose === 'build').length > 1) throw new Violation('two Jobs build');
  if (running.length > 1) throw new Violation('a cleanup runs beside another Job');
}

/** It starts no Pod any more once one has succeeded, which it says later, or once it is being deleted. */
function isRunning({ pods }: World, { uid, state, buildUid, deleting }: JobView): boolean {
  const own = pods.filter(({ jobUid }) => jobUid === uid);
  const startsNone = deleting || own.some(({ phase }) => phase === 'succeeded');
  const runs = own.some(({ phase, started }) => started && phase === 'unfinished');
  return buildUid === 'build-uid' && state === 'active' && (runs || !startsNone);
}

function withJob(world: World, job: JobView): World {
  const serial = world.serial + 1;
  const changed = { ...job, resourceVersion: `${serial}` };
  return { ...world, serial, jobs: world.jobs.map((each) => (each.uid === job.uid ? changed : each)) };
}

function withoutJob(world: World, job: JobView): World {
  return { ...world, jobs: world.jobs.filter(({ uid }) => uid !== job.uid) };
}

// The cluster ----------------------------------------------------------------------------------------------

function jobEvents(world: World, job: JobView): Event[] {
  if (job.buildUid === 'foreign') return [];
  const pods = world.pods.filter(({ jobUid }) => jobUid === job.uid);
  if (job.deleting) {
    return pods.length === 0 ? [event(`Job ${job.uid} goes`, withoutJob(world, job))] : [];
  }
  const isOrphan = world.build === undefined && job.purpose === 'build';
  if (isOrphan) return [event(`Job ${job.uid} is collected`, withJob(world, { ...job, deleting: true }))];
  if (job.state === 'failed' && job.endedAt === JUST_NOW) {
    return [event('time passes', withJob(world, { ...job, endedAt: LONG_AGO }))];
  }
  if (job.state !== 'active') return [];
  if (pods.some(({ phase }) => phase === 'succeeded')) {
    return [
      event(`Job ${job.uid} is complete`, withJob(world, { ...job, state: 'succeeded', endedAt: LONG_AGO })),
    ];
  }
  return pods.length > 0 ? [] : podsToStart(world, job);
}

function podsToStart(world: World, job: JobView): Event[] {
  const { nodes } = world;
  if (job.purpose === 'build') {
    // The Job's status counts its Pods, so it changes with them.
    const next = withJob(world, job);
    return nodes.map((node) => event(`Job ${job.uid} runs on ${node}`, withPod(next, aPodOf(job, node))));
  }
  if (nodes.includes(job.node)) {
    return [event(`cleanup ${job.uid} runs`, withPod(world, aPodOf(job, job.node)))];
  }
  const trouble = { kind: 'unschedulable', text: 'no node takes its Pod' } as const;
  const pending: ModelPod = { ...aPodOf(job, ''), started: false, trouble };
  return [event(`cleanup ${job.uid} finds no node`, withPod(world, pending))];
}

function aPodOf(job: JobView, node: string): ModelPod {
  return {
    name: `pod-${job.uid}`,
    uid: `pod-${job.uid}`,
    jobUid: job.uid,
    buildUid: job.buildUid,
    buildName: job.buildName,
    purpose: job.purpose,
    hash: job.hash,
    binary: job.binary,
    node,
    phase: 'unfinished',
    started: true,
    endedAt: '',
  };
}

/** A build may copy as soon as it runs, and again as long as it does. */
function withPod(world: World, pod: ModelPod): World {
  return written({ ...world, pods: [...world.pods.filter(({ uid }) => uid !== pod.uid), pod] }, pod);
}

function written(world: World, pod: ModelPod): World {
  const file = `${pod.node}/${pod.binary}`;
  if (pod.purpose !== 'build' || world.disks.includes(file)) return world;
  return { ...world, disks: [...world.disks, file].sort() };
}

function podEvents(world: World, pod: ModelPod): Event[] {
  const job = world.jobs.find(({ uid }) => uid === pod.jobUid);
  const gone = { ...world, pods: world.pods.filter(({ uid }) => uid !== pod.uid) };
  if (job === undefined || job.deleting) {
    return [...again(world, pod), ...(mayGo(world, pod) ? [event(`${pod.uid} goes`, gone)] : [])];
  }
  if (pod.phase !== 'unfinished' || job.state !== 'active' || !pod.started) return [];
  return pod.purpose === 'build'
    ? [...again(world, pod), ...buildEnds(world, job, pod)]
    : cleanupEnds(world, job, pod);
}

/**
 * A Pod that runs is given time to end, 30 s by default. The model takes it that the operator looks within that time
 * where it was not itself that deleted the Job: else nobody could know where it ran.
 */
function mayGo({ deletedByOthers, build }: World, { jobUid, purpose, node, binary }: ModelPod): boolean {
  if (!deletedByOthers.includes(jobUid) || purpose === 'cleanup' || build === undefined) return true;
  const { artifacts = [] } = build.status;
  return artifacts.some((each) => each.node === node && each.binary === binary);
}

function again(world: World, pod: ModelPod): Event[] {
  const after = written(world, pod);
  return after === world || pod.phase !== 'unfinished' ? [] : [event(`${pod.uid} writes again`, after)];
}

function buildEnds(world: World, job: JobView, pod: ModelPod): Event[] {
  const { faults } = world;
  const ended = (state: 'succeeded' | 'failed') =>
    withJob(withPod(world, { ...pod, phase: state }), { ...job, state, endedAt: LONG_AGO });
  const podFirst = withPod(world, { ...pod, phase: 'succeeded' });
  const events = [
    event(`Job ${job.uid} succeeds`, ended('succeeded')),
    event(`${pod.uid} succeeds`, podFirst),
  ];
  if (faults.buildsFail === 0) return events;
  const after = { ...ended('failed'), faults: { ...faults, buildsFail: faults.buildsFail - 1 } };
  return [...events, { what: `Job ${job.uid} fails`, isFault: true, after }];
}

function cleanupEnds(world: World, job: JobView, pod: ModelPod): Event[] {
  const { faults, disks } = world;
  const ended = (state: 'succeeded' | 'failed') =>
    withJob(withPod(world, { ...pod, phase: state }), { ...job, state, endedAt: JUST_NOW });
  const cleaned = job.binaries.map((binary) => `${job.node}/${binary}`);
  const after = { ...ended('succeeded'), disks: disks.filter((file) => !cleaned.includes(file)) };
  const events = [event(`cleanup ${job.uid} succeeds`, after)];
  if (faults.cleanupsFail === 0) return events;
  const failed = { ...ended('failed'), faults: { ...faults, cleanupsFail: faults.cleanupsFail - 1 } };
  return [...events, { what: `cleanup ${job.uid} fails`, isFault: true, after: failed }];
}

// People ---------------------------------------------------------------------------------------------------

function userEvents(world: World): Event[] {
  const { build, faults, jobs, nodes } = world;
  const events: Event[] = [];
  const add = (what: string, after: World) => events.push({ what, isFault: true, after });
  const [spec, ...specs] = faults.specs;
  if (build !== undefined && !build.deleting && spec !== undefined) {
    const [next, changed] = versioned(world, {
      ...build,
      spec: SPECS[spec],
      generation: build.generation + 1,
    });
    add(`the spec becomes ${spec}`, { ...next, build: changed, faults: { ...faults, specs } });
  }
  if (build !== undefined && !build.deleting && faults.deletions > 0) {
    const [next, changed] = versioned(world, { ...build, deleting: true, generation: build.generation + 1 });
    const after = build.finalizers.length === 0 ? undefined : changed;
    add('the build is deleted', {
      ...next,
      build: after,
      faults: { ...faults, deletions: faults.deletions - 1 },
    });
  }
  if (faults.jobsDeleted > 0) {
    for (const job of jobs.filter(({ deleting, buildUid }) => !deleting && buildUid !== 'foreign')) {
      const deletedByOthers = [...world.deletedByOthers, job.uid];
      const after = { ...withJob(world, { ...job, deleting: true }), deletedByOthers };
      add(`somebody deletes ${job.uid}`, {
        ...after,
        faults: { ...faults, jobsDeleted: faults.jobsDeleted - 1 },
      });
    }
  }
  if (faults.nodesGo > 0) {
    for (const node of nodes) add(`node ${node} goes`, withoutNode(world, node));
  }
  return events;
}

function withoutNode(world: World, node: string): World {
  const { faults } = world;
  return {
    ...world,
    nodes: world.nodes.filter((each) => each !== node),
    disks: world.disks.filter((file) => !file.startsWith(`${node}/`)),
    pods: world.pods.filter((pod) => pod.node !== node || pod.phase !== 'unfinished'),
    faults: { ...faults, nodesGo: faults.nodesGo - 1 },
  };
}

function event(what: string, after: World): Event {
  return { what, isFault: false, after };
}

// What is reached ------------------------------------------------------------------------------------------

/** Nothing is left to do, and nothing is where it should not be. */
export function isDone({ build, jobs, pods, disks, pass }: World): boolean {
  if (pass !== undefined) return false;
  const ours = jobs.filter(({ buildUid }) => buildUid === 'build-uid');
  const builds = ours.filter(({ purpose }) => purpose === 'build');
  if (pods.some(({ phase }) => phase === 'unfinished')) return false;
  if (build === undefined) return builds.length === 0 && disks.length === 0 && !ours.some(isActive);
  if (build.deleting || ours.some(isActive)) return false;
  if (!build.spec.ok) return isRefused(build);
  if (build.status.phase === 'Failed') {
    return (
      build.status.observedGeneration === build.generation && builds.every(({ state }) => state === 'failed')
    );
  }
  const { binaryName } = build.spec.spec;
  const known = (build.status.artifacts ?? []).map(({ node, binary }) => `${node}/${binary}`);
  return (
    isSettled(build) &&
    disks.every((file) => file.endsWith(`/${binaryName}`) && known.includes(file)) &&
    builds.every(({ hash }) => build.spec.ok && hash === build.spec.hash)
  );
}

function isActive({ state }: JobView): boolean {
  return state === 'active';
}

/** The same for worlds that differ only in the numbers that the server gave. */
export function keyOf(world: World): string {
  const names = new Map<string, string>();
  const canonical = (text: string) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    names.set(text, `#${names.size}`);
    return `#${names.size - 1}`;
  };
  return JSON.stringify({ ...world, serial: 0 }, (field, value: unknown) => {
    if (field === 'spec')
      return typeof value === 'object' && value !== null && 'hash' in value ? value.hash : 'invalid';
    if (field === 'deletedByOthers' && Array.isArray(value))
      return value.map((uid) => canonical(String(uid)));
    if (field === 'resourceVersion' && typeof value === 'string') return canonical(`version ${value}`);
    if (['uid', 'jobUid', 'name'].includes(field) && typeof value === 'string') {
      return value.replace(/job-\d+/, (uid) => canonical(uid));
    }
    return value;
  });
}
