import type {
  BuildFields,
  Change,
  Fault,
  Propagation,
  Requests,
  Schedule,
  ScheduledEvent,
  Target,
  What,
} from './events.ts';
import { Random } from './random.ts';

const CONTROLLERS = ['pod-label', 'namespace-role-binding', 'pod-set', 'git-build'] as const;
type Controller = (typeof CONTROLLERS)[number];

export interface DrawOptions {
  /** `all`, or as `--controllers` takes them. */
  readonly controllers: string;
  /** Whether faults of servers are among them. */
  readonly servers: boolean;
}

/** Draws a schedule: the same one for the same seed and options. */
export function draw(seed: number, options: DrawOptions): Schedule {
  return new Drawing(seed, options).schedule();
}

/** So many stories, each of some changes and mostly a fault. */
const STORIES = 11;
/** After which of them people ask for something by annotations. */
const ASKED_AFTER: readonly number[] = [3, 7];
/** Of how many schedules the operator asks for approval by its option, and over how many. */
const OVER_CHANCE = 0.5;
const OVER_LEAST = 2;
const OVER_MOST = 4;
const ASKED_MS = 50;
const REQUESTS: readonly Requests[] = [
  { kind: 'write' },
  { kind: 'read' },
  { kind: 'any' },
  { kind: 'write', resource: 'pods' },
  { kind: 'write', resource: 'podsets' },
  { kind: 'write', resource: 'xxxes' },
  { kind: 'write', resource: 'jobs' },
  { kind: 'write', resource: 'rolebindings' },
];

interface KnownBuild {
  spec: BuildFields;
  isThere: boolean;
}

/** What is there, as far as the changes say: so that most of them find what they are about. */
class Drawing {
  readonly #seed: number;
  #random: Random;
  /** What people ask by annotations is drawn apart, of objects of its own: all else is what it would be without it. */
  readonly #asking: Random;
  readonly #requireApprovalOver: number | undefined;
  readonly #options: DrawOptions;
  readonly #controllers: readonly Controller[];
  readonly #events: ScheduledEvent[] = [];
  readonly #pods = new Set<string>();
  readonly #sets = new Map<string, number>();
  readonly #builds = new Map<string, KnownBuild>();
  /** Whether the team's binding may not be the operator's any more. */
  #team: 'bound' | 'unselected' | 'foreign' = 'bound';
  readonly #paused = new Map<string, Target>();
  readonly #polled = new Map<string, Target>();
  #count = 0;

  constructor(seed: number, options: DrawOptions) {
    this.#seed = seed;
    this.#random = new Random(seed * 7919 + 17);
    this.#asking = new Random(seed * 104_729 + 31);
    this.#options = options;
    const option = new Random(seed * 7_368_787 + 7);
    this.#requireApprovalOver = option.chance(OVER_CHANCE)
      ? option.between(OVER_LEAST, OVER_MOST)
      : undefined;
    const { controllers } = options;
    this.#controllers = CONTROLLERS.filter(
      (name) => controllers === 'all' || controllers.split(',').includes(name),
    );
  }

  schedule(): Schedule {
    this.#beginnings();
    for (let story = 0; story < STORIES; story += 1) {
      this.#story();
      if (ASKED_AFTER.includes(story)) this.#ask();
    }
    if (this.#options.servers) this.#serverStory();
    this.#endings();
    return {
      seed: this.#seed,
      ...(this.#requireApprovalOver !== undefined && { requireApprovalOver: this.#requireApprovalOver }),
      events: this.#events,
    };
  }

  #has(controller: Controller): boolean {
    return this.#controllers.includes(controller);
  }

  /** Mostly in quick succession, and now and then after everybody had time to settle. */
  #add(what: What, afterMs = this.#pause()): void {
    this.#events.push({ afterMs, what });
  }

  #pause(): number {
    return this.#random.chance(0.15) ? this.#random.between(2_000, 4_000) : this.#random.between(20, 700);
  }

  #beginnings(): void {
    if (this.#has('pod-label')) for (const pod of ['web-0', 'web-1', 'web-2']) this.#createPod(pod);
    if (this.#has('pod-set')) for (const set of ['a', 'b']) this.#createSet(set);
    if (this.#has('git-build')) for (const build of ['app', 'tool']) this.#createBuild(build);
  }

  #story(): void {
    const random = this.#random;
    const controller = random.oneOf(this.#controllers);
    if (random.chance(0.45)) {
      this.#tactic(controller);
      return;
    }
    const isBefore = random.chance(0.7);
    if (isBefore) this.#add(this.#fault());
    for (let changes = random.between(1, 3); changes > 0; changes -= 1) this.#changeOf(controller);
    if (!isBefore) this.#add(this.#fault());
  }

  #ask(): void {
    const before = this.#random;
    this.#random = this.#asking;
    const controller = this.#random.oneOf(this.#controllers);
    if (controller !== 'namespace-role-binding' || this.#team === 'bound')
      this.#random.oneOf(ASKS[controller])(this.#pen());
    this.#random = before;
  }

  // --- faults

  #fault(): Fault {
    const random = this.#random;
    const requests = random.oneOf(REQUESTS);
    const lastsMs = random.between(500, 5_000);
    const count = random.between(1, 4);
    const faults: readonly (() => Fault)[] = [
      () => this.#crash({ kind: 'write' }),
      () => this.#crash({ kind: 'write' }),
      () => this.#crash(random.oneOf(REQUESTS.filter(({ kind }) => kind === 'write'))),
      () => ({ fault: 'stop', signal: random.oneOf(['SIGTERM', 'SIGKILL']), lastsMs: lastsMs / 2 }),
      () => ({ fault: 'freeze', lastsMs: random.chance(0.2) ? 20_000 : lastsMs }),
      () => ({ fault: 'second leader', lastsMs: lastsMs + 6_000 }),
      () => ({
        fault: 'clock step',
        stepMs: random.oneOf([-3_600_000, -30_000, 30_000, 3_600_000]),
        lastsMs,
      }),
      () => ({ fault: 'lost answers', requests, count }),
      () => ({ fault: 'lost answers', requests: { kind: 'write' }, count }),
      () => ({ fault: 'resets', requests, count }),
      () => ({ fault: 'answers', status: random.oneOf([401, 409, 429, 500, 503, 504]), requests, count }),
      () => ({ fault: 'answers', status: 409, requests: { kind: 'write' }, count: count + 4 }),
      () => ({ fault: 'answers', status: 422, requests: { kind: 'write', method: 'POST' }, count }),
      () => ({ fault: 'answers for a while', status: 503, requests: { kind: 'write' }, lastsMs }),
      () => ({ fault: 'answers for a while', status: 403, requests, lastsMs }),
      () => ({ fault: 'slow', requests: { kind: 'write' }, byMs: random.between(700, 6_000), count }),
      () => ({ fault: 'watch lag', lastsMs }),
      () => ({ fault: 'watch lag', resource: random.oneOf(['pods', 'jobs', 'xxxes', 'podsets']), lastsMs }),
      () => ({ fault: 'duplicates', lastsMs }),
      () => ({ fault: 'silence', lastsMs }),
      () => ({ fault: 'watches expire', count: random.between(0, 2) }),
      () => ({ fault: 'watches break' }),
      () => ({ fault: 'api server away', lastsMs }),
      () => ({ fault: 'temporal away', lastsMs }),
      () => ({ fault: 'temporal loses answers', call: this.#call(), count }),
      () => ({ fault: 'temporal refuses', call: this.#call(), count }),
      () => ({ fault: 'terminate runs' }),
    ];
    return random.oneOf(faults)();
  }

  #call(): string {
    return this.#random.oneOf([
      'StartWorkflowExecution',
      'SignalWorkflowExecution',
      'SignalWithStartWorkflowExecution',
      'RespondWorkflowTaskCompleted',
      'RespondActivityTaskCompleted',
    ]);
  }

  #crash(requests: Requests): Fault {
    const when = this.#random.oneOf([
      'before it is sent',
      'after it is committed',
      'after the answer',
    ] as const);
    return { fault: 'crash', write: this.#random.between(1, 4), when, requests };
  }

  // --- changes

  #changeOf(controller: Controller): void {
    switch (controller) {
      case 'pod-label': {
        this.#changePod();
        return;
      }
      case 'pod-set': {
        this.#changeSet();
        return;
      }
      case 'git-build': {
        this.#changeBuild();
        return;
      }
      case 'namespace-role-binding': {
        this.#changeTeam();
        return;
      }
    }
  }

  #createPod(pod: string): void {
    this.#pods.add(pod);
    this.#add({ change: 'create pod', pod, annotation: this.#random.oneOf(['true', 'true', 'yes', null]) });
  }

  #changePod(): void {
    const random = this.#random;
    const pod = random.oneOf(['web-0', 'web-1', 'web-2', LONG_NAME]);
    if (!this.#pods.has(pod)) {
      this.#createPod(pod);
      return;
    }
    const annotation = random.oneOf(['true', 'True', '', null]);
    const label = random.oneOf(['somebody-elses', null, null]);
    const changes: readonly (() => Change)[] = [
      () => ({ change: 'annotate pod', pod, annotation }),
      () => ({ change: 'annotate pod', pod, annotation }),
      () => ({ change: 'label pod', pod, label }),
      () => ({ change: 'delete pod', pod }),
    ];
    const change = random.oneOf(changes)();
    this.#add(change);
    if (change.change === 'delete pod') this.#createPod(pod);
  }

  #createSet(set: string): void {
    const replicas = this.#random.between(0, 5);
    this.#sets.set(set, replicas);
    this.#add({ change: 'create set', set, replicas });
  }

  #changeSet(): void {
    const random = this.#random;
    const set = random.oneOf(['a', 'b']);
    if (!this.#sets.has(set)) {
      this.#createSet(set);
      return;
    }
    const count = random.between(1, 2);
    const changes: readonly (() => Change)[] = [
      () => this.#scale(set),
      () => this.#scale(set),
      () => this.#scale(set),
      () => ({ change: 'delete Pods of set', set, count }),
      () => ({ change: 'relabel Pods of set', set, count }),
      () => ({ change: 'orphan Pods of set', set, count }),
      () => ({ change: 'create orphan', set, pod: this.#name('orphan') }),
      () => ({ change: 'create foreign pod', set, pod: this.#name('foreign') }),
      () => ({ change: 'delete set', set, propagation: this.#propagation() }),
    ];
    const change = random.oneOf(changes)();
    this.#add(change);
    if (change.change !== 'delete set') return;
    this.#sets.delete(set);
    if (random.chance(0.8)) this.#createSet(set);
  }

  #scale(set: string): Change {
    const replicas = this.#random.chance(0.15) ? 0 : this.#random.between(1, 7);
    this.#sets.set(set, replicas);
    return { change: 'scale set', set, replicas };
  }

  #propagation(): Propagation {
    return this.#random.oneOf(['Background', 'Background', 'Foreground', 'Orphan']);
  }

  #createBuild(build: string): void {
    const spec = {
      jobName: `${build}-job`,
      binaryName: build,
      repository: 'main',
      buildCommand: 'go build',
    };
    this.#builds.set(build, { spec, isThere: true });
    this.#add({ change: 'create build', build, spec });
  }

  #changeBuild(): void {
    const random = this.#random;
    const build = random.oneOf(['app', 'tool']);
    if (this.#builds.get(build)?.isThere !== true) {
      this.#createBuild(build);
      return;
    }
    const changes: readonly (() => void)[] = [
      () => this.#editBuild(build),
      () => this.#editBuild(build),
      () => this.#editBuild(build),
      () => this.#add({ change: 'delete Jobs of build', build }),
      () => this.#add({ change: 'strip Jobs of build', build }),
      () => this.#deleteBuild(build),
      () => this.#deleteBuild(build),
    ];
    random.oneOf(changes)();
  }

  #editBuild(build: string): void {
    const random = this.#random;
    const edits: readonly (() => Partial<BuildFields>)[] = [
      () => ({ binaryName: `${build}-${random.between(2, 3)}` }),
      () => ({ jobName: `${build}-job-${random.between(2, 3)}` }),
      () => ({ repository: random.oneOf(['main', 'other']) }),
      () => ({ buildCommand: random.oneOf(['go build', 'sleep infinity', 'exit 1']) }),
    ];
    this.#edit(build, random.oneOf(edits)());
  }

  #edit(build: string, edited: Partial<BuildFields>, afterMs?: number): void {
    const known = this.#builds.get(build);
    if (known === undefined) return;
    known.spec = { ...known.spec, ...edited };
    this.#add({ change: 'edit build', build, spec: edited }, afterMs);
  }

  #removeBuild(build: string, afterMs?: number): void {
    const propagation = this.#random.oneOf(['Background', 'Foreground'] as const);
    this.#add({ change: 'delete build', build, propagation }, afterMs);
    const known = this.#builds.get(build);
    if (known !== undefined) known.isThere = false;
  }

  #deleteBuild(build: string, afterMs?: number): void {
    this.#removeBuild(build, afterMs);
    if (this.#random.chance(0.5)) this.#createBuild(build);
  }

  /** Who has the binding at last must not be a matter of time: each of these is undone before the next. */
  #changeTeam(): void {
    const random = this.#random;
    if (this.#team === 'unselected') {
      this.#add({ change: 'delete binding' });
      this.#add({ change: 'select team', selected: true });
    }
    if (this.#team === 'foreign') this.#add({ change: 'delete binding' });
    this.#team = 'bound';
    const changes: readonly (() => void)[] = [
      () => this.#add({ change: 'delete binding' }),
      () => this.#add({ change: 'edit binding' }),
      () => this.#add({ change: 'replace binding' }),
      () => {
        this.#add({ change: 'create foreign binding' });
        this.#team = 'foreign';
      },
      () => {
        this.#add({ change: 'select team', selected: false });
        this.#team = 'unselected';
        if (random.chance(0.7)) this.#add({ change: 'delete binding' }, random.between(20, 200));
      },
      () => {
        this.#add({ change: 'delete team' });
        this.#add({ change: 'create team' });
      },
    ];
    random.oneOf(changes)();
  }

  // --- what goes together

  #tactic(controller: Controller): void {
    const tactics = TACTICS[controller];
    this.#random.oneOf(tactics)(this.#pen());
  }

  #pen(): Pen {
    return {
      random: this.#random,
      add: (what, afterMs) => this.#add(what, afterMs),
      scale: (set) => this.#add(this.#scale(set)),
      edit: (build, spec, afterMs) => this.#edit(build, spec, afterMs),
      thereIsSet: (set, least) => {
        if (!this.#sets.has(set)) this.#createSet(set);
        if ((this.#sets.get(set) ?? 0) >= least) return;
        this.#sets.set(set, least);
        this.#add({ change: 'scale set', set, replicas: least });
      },
      thereIsBuild: (build) => {
        if (this.#builds.get(build)?.isThere !== true) this.#createBuild(build);
        // Whatever it was edited to before, it ends.
        this.#edit(build, { buildCommand: 'go build' });
      },
      deleteBuild: (build, afterMs) => this.#deleteBuild(build, afterMs),
      removeBuild: (build) => this.#removeBuild(build),
      changeTeam: () => this.#changeTeam(),
      crash: (requests) => this.#crash(requests),
      fault: () => this.#fault(),
      pause: (on, afterMs) => {
        this.#paused.set(`${on.kind} ${on.name}`, on);
        this.#add({ change: 'pause', on, paused: true }, afterMs);
      },
      poll: (on) => {
        this.#polled.set(`${on.kind} ${on.name}`, on);
        this.#add({ change: 'poll', on, interval: POLL_INTERVAL });
      },
      revoke: () => {
        if (this.#team !== 'bound') this.#changeTeam();
        this.#team = 'unselected';
      },
      has: (name) => this.#has(name),
      name: (prefix) => this.#name(prefix),
    };
  }

  #name(prefix: string): string {
    this.#count += 1;
    return `${prefix}-${this.#count}`;
  }

  #serverStory(): void {
    const random = this.#random;
    const change = () => this.#changeOf(random.oneOf(this.#controllers));
    const stories: readonly (() => void)[] = [
      () => this.#add({ fault: 'temporal restarts' }, 1_000),
      () => this.#add({ fault: 'temporal is wiped' }, 1_000),
      () => this.#add({ fault: 'api server restarts' }, 1_000),
    ];
    this.#add({ fault: 'etcd is saved' }, 2_000);
    change();
    change();
    random.oneOf(stories)();
    change();
    this.#add({ fault: 'etcd is restored' }, 3_000);
    change();
    random.oneOf(stories)();
    change();
  }

  /** Nothing stays that would go on for minutes, as a build that fails does. */
  #endings(): void {
    for (const on of this.#paused.values()) this.#add({ change: 'pause', on, paused: false }, ASKED_MS);
    for (const on of this.#polled.values()) this.#add({ change: 'poll', on, interval: null }, ASKED_MS);
    if (this.#has('pod-set') || this.#has('git-build')) this.#add({ change: 'approve all' }, ASKED_MS);
    if (this.#random.chance(0.4)) this.#endRefused();
    for (const [build, { spec, isThere }] of this.#builds) {
      if (isThere && spec.buildCommand === 'exit 1') this.#edit(build, { buildCommand: 'go build' });
    }
    if (this.#has('namespace-role-binding') && this.#random.chance(0.4)) this.#endAccess();
    if (this.#has('pod-label') && this.#random.chance(0.3)) this.#endStalledRun();
  }

  /** What is refused, and for how long, is over in the end, and nobody changes anything that would have it tried again. */
  #endRefused(): void {
    const status = this.#random.oneOf([403, 503] as const);
    const lastsMs = 8_000;
    this.#add({ fault: 'answers for a while', status, requests: { kind: 'write' }, lastsMs }, 2_000);
    for (const controller of this.#controllers) this.#changeOf(controller);
    this.#add({ fault: 'watches break' }, lastsMs);
  }

  /** For good: what is given back now stays. */
  #endAccess(): void {
    if (this.#team !== 'bound') this.#changeTeam();
    if (this.#team !== 'bound') return;
    this.#add({ change: 'select team', selected: false }, 2_000);
    this.#add({ change: 'delete binding' }, 50);
  }

  /** By hand, when nothing else happens any more that would have somebody look. */
  #endStalledRun(): void {
    if (this.#pods.has(LONG_NAME)) this.#add({ change: 'annotate pod', pod: LONG_NAME, annotation: 'true' });
    else this.#add({ change: 'create pod', pod: LONG_NAME, annotation: 'true' });
    this.#add({ fault: 'terminate runs' }, 20_000);
  }
}

/** A probe ends what it is made for. */
const PROBED_MS = 90_000;

/** A Pod whose name is too long for a label: a permanent error. */
const LONG_NAME = 'long-'.padEnd(70, 'x');

/** What tactics are written with. */
interface Pen {
  readonly random: Random;
  readonly add: (what: What, afterMs?: number) => void;
  readonly scale: (set: string) => void;
  readonly edit: (build: string, spec: Partial<BuildFields>, afterMs?: number) => void;
  /** With so many Pods at least. */
  readonly thereIsSet: (set: string, least: number) => void;
  readonly thereIsBuild: (build: string) => void;
  /** It may be created again at once. */
  readonly deleteBuild: (build: string, afterMs?: number) => void;
  /** It is not created again before something else has happened to it. */
  readonly removeBuild: (build: string) => void;
  readonly changeTeam: () => void;
  readonly crash: (requests: Requests) => Fault;
  readonly fault: () => Fault;
  /** Lifted in the end, if not before. */
  readonly pause: (on: Target, afterMs?: number) => void;
  /** Lifted in the end. */
  readonly poll: (on: Target) => void;
  /** The team has its binding, and is about to lose it. */
  readonly revoke: () => void;
  readonly has: (controller: Controller) => boolean;
  readonly name: (prefix: string) => string;
}

/** Faults and changes that are worth more together: each is what a defect of this kind of program needs to be seen. */
const TACTICS: Readonly<Record<Controller, readonly ((pen: Pen) => void)[]>> = {
  'pod-label': [
    // Deleted and created again while nobody sees it.
    ({ add, random }) => {
      add({ fault: 'silence', lastsMs: 2_500 });
      add({ change: 'delete pod', pod: 'web-0' });
      add({ change: 'create pod', pod: 'web-0', annotation: random.oneOf(['true', null]) });
      add({ fault: 'watches expire', count: 1 });
    },
    // Changed while the watch is away, with nothing that comes after it.
    ({ add }) => {
      add({ fault: 'api server away', lastsMs: 1_500 });
      add({ change: 'annotate pod', pod: 'web-1', annotation: null }, 300);
      add({ change: 'annotate pod', pod: 'web-2', annotation: 'true' }, 100);
    },
    ({ add }) => {
      add({ fault: 'temporal away', lastsMs: 3_000 });
      add({ change: 'annotate pod', pod: 'web-0', annotation: 'true' }, 200);
      add({ change: 'annotate pod', pod: 'web-1', annotation: null }, 50);
      add({ fault: 'watches break' }, 500);
    },
    // Back and forth.
    ({ add }) => {
      for (const annotation of ['true', null, 'true', null, 'true']) {
        add({ change: 'annotate pod', pod: 'web-2', annotation }, 60);
      }
    },
  ],
  'pod-set': [
    ({ add, thereIsSet }) => {
      thereIsSet('a', 5);
      add({ change: 'fail Pods of set', set: 'a' }, 2_500);
    },
    ({ add, scale, crash }) => {
      add(crash({ kind: 'write', resource: 'pods' }));
      scale('b');
      scale('b');
    },
    ({ add, thereIsSet, random }) => {
      thereIsSet('b', 2);
      // What was asked for happens, late or unseen, while it is asked for again.
      const requests = { kind: 'write', resource: 'pods' } as const;
      const count = random.between(1, 3);
      add(
        random.chance(0.5)
          ? { fault: 'lost answers', requests, count }
          : { fault: 'slow', requests, byMs: 2_500, count },
      );
      thereIsSet('b', 5);
      add({ change: 'delete Pods of set', set: 'b', count: 2 }, 2_500);
    },
    // The group is away, and others work.
    ({ add, has, name, scale }) => {
      scale('a');
      add({
        fault: 'answers for a while',
        status: 404,
        requests: { kind: 'any', resource: 'podsets' },
        lastsMs: has('pod-label') ? PROBED_MS : 8_000,
      });
      if (has('pod-label')) add({ change: 'probe', pod: name('probe') }, 300);
    },
    ({ add, thereIsSet, name }) => {
      thereIsSet('a', 2);
      add({ change: 'create foreign pod', set: 'a', pod: name('foreign') });
      add({ change: 'create orphan', set: 'a', pod: name('orphan') });
      add({ change: 'relabel Pods of set', set: 'a', count: 1 }, 1_500);
    },
    // It dies with an attempt in hand that is not the first.
    ({ add, thereIsSet }) => {
      thereIsSet('b', 1);
      const requests = { kind: 'write', resource: 'pods' } as const;
      add({ fault: 'answers for a while', status: 503, requests, lastsMs: 2_500 }, 1_500);
      add({ fault: 'crash', write: 1, when: 'before it is sent', requests }, 20);
      add({ change: 'scale set', set: 'b', replicas: 0 }, 20);
      thereIsSet('b', 3);
    },
    ({ add, scale, random }) => {
      add({
        fault: 'answers for a while',
        status: random.oneOf([503, 403]),
        requests: { kind: 'write' },
        lastsMs: 8_000,
      });
      scale('a');
      scale('b');
    },
  ],
  'git-build': [
    // The create arrives when the resource is being deleted already.
    ({ add, edit, thereIsBuild, deleteBuild, random }) => {
      thereIsBuild('app');
      const requests = { kind: 'write', resource: 'jobs', method: 'POST' } as const;
      add({ fault: 'slow', requests, byMs: 3_500, count: 1 }, 2_500);
      edit('app', { repository: random.oneOf(['slow', 'slower']) });
      deleteBuild('app', 2_200);
    },
    // A cleanup that cannot run, and is then not wanted.
    ({ add, thereIsBuild, removeBuild }) => {
      thereIsBuild('tool');
      add({ change: 'forbid Pods', forbidden: true }, 3_500);
      removeBuild('tool');
      add({ change: 'skip cleanup', build: 'tool' }, 2_500);
      add({ change: 'forbid Pods', forbidden: false }, 2_000);
    },
    ({ add, thereIsBuild, deleteBuild, crash, random }) => {
      thereIsBuild('app');
      add(crash({ kind: 'write', resource: random.oneOf(['jobs', 'xxxes']) }), 2_000);
      deleteBuild('app');
    },
    ({ add, thereIsBuild, edit, random }) => {
      thereIsBuild('tool');
      edit('tool', { buildCommand: 'sleep infinity' }, 1_500);
      add({ change: random.oneOf(['delete Jobs of build', 'strip Jobs of build']), build: 'tool' }, 1_500);
      edit('tool', { buildCommand: 'go build', binaryName: 'tool-4' }, 1_000);
    },
    // What is refused is quoted.
    ({ add, thereIsBuild, edit }) => {
      thereIsBuild('app');
      add({
        fault: 'answers',
        status: 422,
        requests: { kind: 'write', resource: 'jobs', method: 'POST' },
        count: 2,
      });
      edit('app', { repository: 'refused', binaryName: 'app-5' });
    },
    // The name is taken.
    ({ add, thereIsBuild, edit }) => {
      add({ change: 'create foreign job', job: 'taken' });
      thereIsBuild('tool');
      edit('tool', { jobName: 'taken' });
      edit('tool', { jobName: 'tool-job' }, 3_000);
    },
    // The old binary goes.
    ({ add, thereIsBuild, edit, random }) => {
      thereIsBuild('app');
      edit('app', { binaryName: 'app-6' }, 3_000);
      add(
        { fault: 'lost answers', requests: { kind: 'write', resource: 'jobs' }, count: random.between(1, 2) },
        300,
      );
    },
  ],
  'namespace-role-binding': [
    // Taken away while the watcher still shows the namespace as selected.
    ({ add, revoke, random }) => {
      revoke();
      add({ change: 'select team', selected: false }, 2_000);
      add({ change: 'delete binding' }, random.between(20, 100));
    },
    // One namespace may not be read, and others are not held up.
    ({ add, has, name, changeTeam }) => {
      add({
        fault: 'answers for a while',
        status: 403,
        requests: { kind: 'any', namespace: 'team' },
        lastsMs: has('pod-label') ? PROBED_MS : 8_000,
      });
      add({ fault: 'stop', signal: 'SIGKILL', lastsMs: 0 });
      if (has('pod-label')) add({ change: 'probe', pod: name('probe') }, 300);
      changeTeam();
    },
    ({ add, changeTeam, crash }) => {
      add(crash({ kind: 'write', resource: 'rolebindings' }));
      changeTeam();
    },
    // Its stalled run is ended by hand.
    ({ add, changeTeam }) => {
      changeTeam();
      add({ fault: 'terminate runs' }, 3_000);
    },
  ],
};

/** A pause holds for longer than anything that was begun before it goes on: `PAUSE_SEEN_MS` in invariants.ts. */
const PAUSE_HOLDS_MS = 13_000;
/** So does a required approval: `APPROVAL_SEEN_MS`. */
const APPROVAL_HOLDS_MS = 4_000;

/** The least that the operator follows: `POLL_LEAST_MS` in src/watcher/looks.ts. */
const POLL_INTERVAL = '10s';

const POD: Target = { kind: 'pod', name: 'web-3' };
const SET: Target = { kind: 'set', name: 'c' };
const BUILD: Target = { kind: 'build', name: 'kit' };
const HOME: Target = { kind: 'namespace', name: 'home' };
const TEAM: Target = { kind: 'namespace', name: 'team' };

/** What people ask by annotations: to pause, to reconcile, to approve. */
const ASKS: Readonly<Record<Controller, readonly ((pen: Pen) => void)[]>> = {
  'pod-label': [
    ({ add, pause, fault, random }) => {
      add({ change: 'create pod', pod: POD.name, annotation: null });
      pause(POD, 1_000);
      add({ change: 'annotate pod', pod: POD.name, annotation: 'true' });
      if (random.chance(0.5)) add(fault());
      add({ change: 'request reconcile', on: POD });
      if (random.chance(0.7)) add({ change: 'pause', on: POD, paused: false });
    },
    // All that is in a Namespace.
    ({ add, fault, random }) => {
      add({ change: 'create pod', pod: POD.name, annotation: random.oneOf(['true', null]) });
      add({ change: 'pause', on: HOME, paused: true }, 1_000);
      if (random.chance(0.7)) add(fault());
      add({ change: 'annotate pod', pod: POD.name, annotation: random.oneOf(['true', null]) });
      add({ change: 'pause', on: HOME, paused: false });
    },
  ],
  'pod-set': [
    // Long enough that what is written cannot have been begun before.
    ({ add, pause, thereIsSet, fault, random }) => {
      thereIsSet(SET.name, 2);
      pause(SET, 1_500);
      if (random.chance(0.5)) add(fault());
      add({ change: 'request reconcile', on: SET }, PAUSE_HOLDS_MS);
      thereIsSet(SET.name, 6);
      add({ change: 'delete Pods of set', set: SET.name, count: 1 });
      add({ change: 'pause', on: SET, paused: false }, 2_500);
    },
    // Deleted only once that is approved, whoever dies meanwhile.
    ({ add, thereIsSet, crash, random }) => {
      thereIsSet(SET.name, 4);
      add({ change: 'require approval', on: SET, required: true }, 2_500);
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 2) }, APPROVAL_HOLDS_MS);
      add({ change: 'request reconcile', on: SET }, 2_500);
      if (random.chance(0.6)) add(crash({ kind: 'write', resource: random.oneOf(['pods', 'podsets']) }));
      add({ change: 'approve', on: SET });
    },
    // A rejection stands, whoever dies meanwhile; what is asked for in the end is less, or approved after all.
    ({ add, thereIsSet, crash, random }) => {
      thereIsSet(SET.name, 6);
      add({ change: 'require approval', on: SET, required: true }, 2_500);
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 1) }, APPROVAL_HOLDS_MS);
      add({ change: 'reject', on: SET }, 1_000);
      if (random.chance(0.6)) add(crash({ kind: 'write', resource: 'podsets' }));
      add({ change: 'request reconcile', on: SET }, 2_500);
      if (random.chance(0.5)) add({ change: 'scale set', set: SET.name, replicas: 5 });
      else add({ change: 'approve', on: SET });
    },
    // It looks again and again while it is scaled, as far as the option of the operator lets it.
    ({ add, poll, thereIsSet, fault, random }) => {
      thereIsSet(SET.name, 7);
      poll(SET);
      if (random.chance(0.6)) add(fault());
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 5) }, 3_000);
      add({ change: 'request reconcile', on: SET }, 1_000);
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 4) }, 4_000);
    },
  ],
  'git-build': [
    // A pause does not hold its end.
    ({ add, pause, thereIsBuild, removeBuild, crash }) => {
      thereIsBuild(BUILD.name);
      pause(BUILD, 3_000);
      add(crash({ kind: 'write', resource: 'xxxes' }));
      removeBuild(BUILD.name);
    },
    // The old binary goes once that is approved.
    ({ add, thereIsBuild, edit, fault, random }) => {
      thereIsBuild(BUILD.name);
      add({ change: 'require approval', on: BUILD, required: true }, 2_500);
      edit(BUILD.name, { binaryName: 'kit-2' }, APPROVAL_HOLDS_MS);
      if (random.chance(0.6)) add(fault());
      for (let plans = 0; plans < 2; plans += 1) add({ change: 'approve', on: BUILD }, 2_500);
    },
    // Nothing new comes of looking again.
    ({ add, poll, thereIsBuild, fault, random }) => {
      thereIsBuild(BUILD.name);
      poll(BUILD);
      add({ change: 'request reconcile', on: BUILD }, random.between(100, 3_000));
      if (random.chance(0.6)) add(fault());
      add({ change: 'request reconcile', on: BUILD }, 3_000);
    },
  ],
  'namespace-role-binding': [
    ({ add, fault, random }) => {
      add({ change: 'pause', on: TEAM, paused: true }, 1_500);
      add({ change: 'delete binding' });
      if (random.chance(0.6)) add(fault());
      add({ change: 'pause', on: TEAM, paused: false });
    },
    ({ add, poll, fault, random }) => {
      poll(TEAM);
      add({ change: 'delete binding' }, 1_500);
      if (random.chance(0.6)) add(fault());
      add({ change: 'request reconcile', on: TEAM });
    },
  ],
};
