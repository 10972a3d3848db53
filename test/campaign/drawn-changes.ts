import type { Propagation } from './insistent-cluster.ts';
import type { Change } from './people.ts';
import type { BuildFields, Controller } from './place.ts';
import type { Pen } from './pen.ts';

/** A Pod whose name is too long for a label: a permanent error. */
export const LONG_NAME = 'long-'.padEnd(70, 'x');

/** What there is, as far as the changes say: so that most of them find what they are about. */
export class Objects {
  readonly controllers: readonly Controller[];
  readonly pods: Pods;
  readonly sets: Sets;
  readonly builds: Builds;
  readonly team: Team;

  constructor(pen: Pen, controllers: readonly Controller[]) {
    this.controllers = controllers;
    this.pods = new Pods(pen);
    this.sets = new Sets(pen);
    this.builds = new Builds(pen);
    this.team = new Team(pen);
  }

  readonly has = (controller: Controller): boolean => this.controllers.includes(controller);

  createFirst(): void {
    if (this.has('pod-label')) for (const pod of ['web-0', 'web-1', 'web-2']) this.pods.create(pod);
    if (this.has('pod-set')) for (const set of ['a', 'b']) this.sets.create(set);
    if (this.has('git-build')) for (const build of ['app', 'tool']) this.builds.create(build);
  }

  /** Any change of what this controller is about. */
  change(controller: Controller): void {
    const objects = {
      'pod-label': this.pods,
      'pod-set': this.sets,
      'git-build': this.builds,
      'namespace-role-binding': this.team,
    };
    objects[controller].change();
  }
}

class Pods {
  readonly #pen: Pen;
  readonly #created = new Set<string>();

  constructor(pen: Pen) {
    this.#pen = pen;
  }

  has(pod: string): boolean {
    return this.#created.has(pod);
  }

  create(pod: string): void {
    const { add, random } = this.#pen;
    this.#created.add(pod);
    add({ change: 'create pod', pod, annotation: random.oneOf(['true', 'true', 'yes', null]) });
  }

  change(): void {
    const { add, random } = this.#pen;
    const pod = random.oneOf(['web-0', 'web-1', 'web-2', LONG_NAME]);
    if (!this.has(pod)) {
      this.create(pod);
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
    add(change);
    if (change.change === 'delete pod') this.create(pod);
  }
}

class Sets {
  readonly #pen: Pen;
  readonly #replicas = new Map<string, number>();

  constructor(pen: Pen) {
    this.#pen = pen;
  }

  create(set: string): void {
    const replicas = this.#pen.random.between(0, 5);
    this.#replicas.set(set, replicas);
    this.#pen.add({ change: 'create set', set, replicas });
  }

  change(): void {
    const { add, name, random } = this.#pen;
    const set = random.oneOf(['a', 'b']);
    if (!this.#replicas.has(set)) {
      this.create(set);
      return;
    }
    const count = random.between(1, 2);
    const changes: readonly (() => Change)[] = [
      () => this.#scaled(set),
      () => this.#scaled(set),
      () => this.#scaled(set),
      () => ({ change: 'delete Pods of set', set, count }),
      () => ({ change: 'relabel Pods of set', set, count }),
      () => ({ change: 'orphan Pods of set', set, count }),
      () => ({ change: 'create orphan', set, pod: name('orphan') }),
      () => ({ change: 'create foreign pod', set, pod: name('foreign') }),
      () => ({ change: 'delete set', set, propagation: this.#propagation() }),
    ];
    const change = random.oneOf(changes)();
    add(change);
    if (change.change !== 'delete set') return;
    this.#replicas.delete(set);
    if (random.chance(0.8)) this.create(set);
  }

  scale(set: string): void {
    this.#pen.add(this.#scaled(set));
  }

  /** The set is there, with so many replicas at least. */
  ensure(set: string, least: number): void {
    if (!this.#replicas.has(set)) this.create(set);
    if ((this.#replicas.get(set) ?? 0) >= least) return;
    this.#replicas.set(set, least);
    this.#pen.add({ change: 'scale set', set, replicas: least });
  }

  #scaled(set: string): Change {
    const { random } = this.#pen;
    const replicas = random.chance(0.15) ? 0 : random.between(1, 7);
    this.#replicas.set(set, replicas);
    return { change: 'scale set', set, replicas };
  }

  #propagation(): Propagation {
    return this.#pen.random.oneOf(['Background', 'Background', 'Foreground', 'Orphan']);
  }
}

class Builds {
  readonly #pen: Pen;
  /** Those that were ever created. */
  readonly #known = new Map<string, { spec: BuildFields; isThere: boolean }>();

  constructor(pen: Pen) {
    this.#pen = pen;
  }

  create(build: string): void {
    const spec = {
      jobName: `${build}-job`,
      binaryName: build,
      repository: 'main',
      buildCommand: 'go build',
    };
    this.#known.set(build, { spec, isThere: true });
    this.#pen.add({ change: 'create build', build, spec });
  }

  change(): void {
    const { add, random } = this.#pen;
    const build = random.oneOf(['app', 'tool']);
    if (!this.#isThere(build)) {
      this.create(build);
      return;
    }
    const changes: readonly (() => void)[] = [
      () => this.#editAny(build),
      () => this.#editAny(build),
      () => this.#editAny(build),
      () => add({ change: 'delete Jobs of build', build }),
      () => add({ change: 'strip Jobs of build', build }),
      () => this.delete(build),
      () => this.delete(build),
    ];
    random.oneOf(changes)();
  }

  edit(build: string, edited: Partial<BuildFields>, afterMs?: number): void {
    const known = this.#known.get(build);
    if (known === undefined) return;
    known.spec = { ...known.spec, ...edited };
    this.#pen.add({ change: 'edit build', build, spec: edited }, afterMs);
  }

  /** The build is there, and ends, whatever it was edited to before. */
  ensure(build: string): void {
    if (!this.#isThere(build)) this.create(build);
    this.edit(build, { buildCommand: 'go build' });
  }

  /** It is not created again before something else has happened to it. */
  remove(build: string, afterMs?: number): void {
    const propagation = this.#pen.random.oneOf(['Background', 'Foreground'] as const);
    this.#pen.add({ change: 'delete build', build, propagation }, afterMs);
    const known = this.#known.get(build);
    if (known !== undefined) known.isThere = false;
  }

  /** It may be created again at once. */
  delete(build: string, afterMs?: number): void {
    this.remove(build, afterMs);
    if (this.#pen.random.chance(0.5)) this.create(build);
  }

  repairFailing(): void {
    for (const [build, { spec, isThere }] of this.#known) {
      if (isThere && spec.buildCommand === 'exit 1') this.edit(build, { buildCommand: 'go build' });
    }
  }

  #isThere(build: string): boolean {
    return this.#known.get(build)?.isThere === true;
  }

  #editAny(build: string): void {
    const { random } = this.#pen;
    const edits: readonly (() => Partial<BuildFields>)[] = [
      () => ({ binaryName: `${build}-${random.between(2, 3)}` }),
      () => ({ jobName: `${build}-job-${random.between(2, 3)}` }),
      () => ({ repository: random.oneOf(['main', 'other']) }),
      () => ({ buildCommand: random.oneOf(['go build', 'sleep infinity', 'exit 1']) }),
    ];
    this.edit(build, random.oneOf(edits)());
  }
}

/** The namespace whose RoleBinding is the operator's, unless a change has taken it away. */
class Team {
  readonly #pen: Pen;
  #binding: 'bound' | 'unselected' | 'foreign' = 'bound';

  constructor(pen: Pen) {
    this.#pen = pen;
  }

  get isBound(): boolean {
    return this.#binding === 'bound';
  }

  /** Who has the binding at last must not be a matter of time: each of these is undone before the next. */
  change(): void {
    const { add, random } = this.#pen;
    if (this.#binding === 'unselected') {
      add({ change: 'delete binding' });
      add({ change: 'select team', selected: true });
    }
    if (this.#binding === 'foreign') add({ change: 'delete binding' });
    this.#binding = 'bound';
    const changes: readonly (() => void)[] = [
      () => add({ change: 'delete binding' }),
      () => add({ change: 'edit binding' }),
      () => add({ change: 'replace binding' }),
      () => {
        add({ change: 'create foreign binding' });
        this.#binding = 'foreign';
      },
      () => {
        add({ change: 'select team', selected: false });
        this.#binding = 'unselected';
        if (random.chance(0.7)) add({ change: 'delete binding' }, random.between(20, 200));
      },
      () => {
        add({ change: 'delete team' });
        add({ change: 'create team' });
      },
    ];
    random.oneOf(changes)();
  }

  /** Access is taken away, and then the binding, so soon that the watcher may still show the namespace as selected. */
  revoke(): void {
    const { add, random } = this.#pen;
    if (!this.isBound) this.change();
    this.#binding = 'unselected';
    add({ change: 'select team', selected: false }, 2_000);
    add({ change: 'delete binding' }, random.between(20, 100));
  }
}
