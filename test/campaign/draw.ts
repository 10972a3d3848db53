import { POLICIES, type PolicyName } from './admission.ts';
import { ASKS } from './asks.ts';
import { LONG_NAME, Objects } from './drawn-changes.ts';
import type { Schedule } from './events.ts';
import { Pen } from './pen.ts';
import { CONTROLLERS, type Controller } from './place.ts';
import { Random } from './random.ts';
import { TACTICS } from './tactics.ts';

export interface DrawOptions {
  /** `all`, or as `--controllers` takes them. */
  readonly controllers: string;
  /** Whether faults of servers are among them. */
  readonly servers: boolean;
  /** How many stories, each of some changes and mostly a fault. Default: 11. */
  readonly stories?: number;
}

/** Draws a schedule: the same one for the same seed and options. */
export function draw(seed: number, { controllers, servers, stories = STORIES }: DrawOptions): Schedule {
  return { seed, events: new Drawing(seed, controllersIn(controllers)).events(stories, servers) };
}

const STORIES = 11;
/** After which of them people ask for something by annotations. */
const ASKED_AFTER: readonly number[] = [3, 7];
/** After which of them admission changes what the operator sends. */
const ADMISSION_AFTER: readonly number[] = [2, 5, 8];
/** Long enough that an operator that does not notice would be seen to go on and on. */
const ADMISSION_MS = 8_000;
const DRAINING_CHANCE = 0.6;
const APPROVED_AFTER_MS = 50;

function controllersIn(names: string): readonly Controller[] {
  return CONTROLLERS.filter((name) => names === 'all' || names.split(',').includes(name));
}

class Drawing {
  readonly #pen: Pen;
  readonly #objects: Objects;
  /** What people ask by annotations is drawn apart, of objects of its own: all else is what it would be without it. */
  readonly #asking: Random;
  /** As is admission. */
  readonly #admission: Random;

  constructor(seed: number, controllers: readonly Controller[]) {
    this.#pen = new Pen(new Random(seed * 7919 + 17));
    this.#asking = new Random(seed * 104_729 + 31);
    this.#admission = new Random(seed * 15_485_863 + 15);
    this.#objects = new Objects(this.#pen, controllers);
  }

  events(stories: number, areServersDisturbed: boolean): Schedule['events'] {
    const { controllers } = this.#objects;
    const policies = this.#admission.shuffled(
      (Object.keys(POLICIES) as PolicyName[]).filter((name) =>
        controllers.includes(POLICIES[name].controller),
      ),
    );
    this.#objects.createFirst();
    for (let story = 0; story < stories; story += 1) {
      this.#story();
      if (ASKED_AFTER.includes(story)) this.#pen.drawingFrom(this.#asking, () => this.#ask());
      if (ADMISSION_AFTER.includes(story))
        this.#pen.drawingFrom(this.#admission, () => this.#admit(policies.pop()));
    }
    if (areServersDisturbed) this.#serverStory();
    this.#endings();
    return this.#pen.events;
  }

  #story(): void {
    const { add, fault, random } = this.#pen;
    const controller = random.oneOf(this.#objects.controllers);
    if (random.chance(0.45)) {
      random.oneOf(TACTICS[controller])(this.#pen, this.#objects);
      return;
    }
    const isBefore = random.chance(0.7);
    if (isBefore) add(fault());
    for (let changes = random.between(1, 3); changes > 0; changes -= 1) this.#objects.change(controller);
    if (!isBefore) add(fault());
  }

  #ask(): void {
    const { random } = this.#pen;
    const { controllers, team } = this.#objects;
    const controller = random.oneOf(controllers);
    if (controller !== 'namespace-role-binding' || team.isBound)
      random.oneOf(ASKS[controller])(this.#pen, this.#objects);
  }

  /** Of an object of its own. */
  #admit(changes: PolicyName | undefined): void {
    const { add, events, rest } = this.#pen;
    const { builds, team } = this.#objects;
    if (changes === undefined) return;
    const { controller } = POLICIES[changes];
    if (controller === 'namespace-role-binding' && !team.isBound) return;
    const name = `admitted-${events.length}`;
    const of = controller === 'namespace-role-binding' ? 'team' : name;
    add({ fault: 'admission', changes, of, lastsMs: ADMISSION_MS });
    switch (controller) {
      case 'pod-label':
        add({ change: 'create pod', pod: name, annotation: 'true' });
        break;
      case 'pod-set':
        add({ change: 'create set', set: name, replicas: 5 });
        break;
      case 'git-build':
        builds.create(name);
        break;
      case 'namespace-role-binding':
        add({ change: 'delete binding' });
        break;
    }
    rest(ADMISSION_MS);
  }

  #serverStory(): void {
    const { add, random } = this.#pen;
    const change = () => this.#objects.change(random.oneOf(this.#objects.controllers));
    const stories: readonly (() => void)[] = [
      () => add({ fault: 'temporal restarts' }, 1_000),
      () => add({ fault: 'temporal is wiped' }, 1_000),
      () => add({ fault: 'api server restarts' }, 1_000),
    ];
    add({ fault: 'etcd is saved' }, 2_000);
    change();
    change();
    random.oneOf(stories)();
    change();
    const isDraining = this.#admission.chance(DRAINING_CHANCE);
    add({ fault: 'etcd is restored', ...(isDraining && { isDraining }) }, 3_000);
    change();
    // Another fault of servers would end what is to be seen.
    if (isDraining) return;
    random.oneOf(stories)();
    change();
  }

  /** Nothing stays that would go on for minutes, as a build that fails does. */
  #endings(): void {
    const { add, random } = this.#pen;
    const { builds, has } = this.#objects;
    this.#pen.liftPausesAndPolls();
    if (has('pod-set') || has('git-build')) add({ change: 'approve all' }, APPROVED_AFTER_MS);
    if (random.chance(0.4)) this.#endRefused();
    builds.repairFailing();
    if (has('namespace-role-binding') && random.chance(0.4)) this.#endAccess();
    if (has('pod-label') && random.chance(0.3)) this.#endStalledRun();
  }

  /** What is refused, and for how long, is over in the end, and nobody changes anything that would have it tried again. */
  #endRefused(): void {
    const { add, random } = this.#pen;
    const status = random.oneOf([403, 503] as const);
    const lastsMs = 8_000;
    add({ fault: 'answers for a while', status, requests: { kind: 'write' }, lastsMs }, 2_000);
    for (const controller of this.#objects.controllers) this.#objects.change(controller);
    add({ fault: 'watches break' }, lastsMs);
  }

  /** For good: what is given back now stays. */
  #endAccess(): void {
    const { add } = this.#pen;
    const { team } = this.#objects;
    if (!team.isBound) team.change();
    if (!team.isBound) return;
    add({ change: 'select team', selected: false }, 2_000);
    add({ change: 'delete binding' }, 50);
  }

  /** By hand, when nothing else happens any more that would have somebody look. */
  #endStalledRun(): void {
    const { add } = this.#pen;
    if (this.#objects.pods.has(LONG_NAME))
      add({ change: 'annotate pod', pod: LONG_NAME, annotation: 'true' });
    else add({ change: 'create pod', pod: LONG_NAME, annotation: 'true' });
    add({ fault: 'terminate runs' }, 20_000);
  }
}
