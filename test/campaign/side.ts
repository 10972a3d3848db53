import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PODS, type TestCluster } from '../support/cluster.ts';
import { ApiProxy } from '../../testing/stack/api-proxy.ts';
import { isFault, type Schedule, type What } from './events.ts';
import { Faults, type Servers } from './faults.ts';
import { writesOf } from './invariants.ts';
import type { Observer } from './observer.ts';
import { Operators } from './operators.ts';
import { People, type Change } from './people.ts';
import { newPlace, type Place } from './place.ts';
import { stateOf, terminateRuns, type State } from './state.ts';
import { TemporalProxy } from '../support/temporal-proxy.ts';

/** The servers that runs of schedules share, and who looks at them. */
export interface Ground {
  readonly dir: string;
  /** Of the operator's service account. */
  readonly operatorKubeconfig: string;
  readonly temporalAddress: string;
  /** A person with all rights. */
  readonly cluster: TestCluster;
  readonly temporal: Client;
  readonly observer: Observer;
  /** Undefined: several schedules use them. */
  readonly servers: Servers | undefined;
}

export interface SideOptions {
  readonly program: string;
  readonly controllers: string;
  readonly isAlone: boolean;
}

const PROBED_WITHIN_MS = 25_000;
const PEOPLE_END_WITHIN_MS = 60_000;

/** One run of a schedule, in namespaces of its own, with an operator of its own behind two proxies. */
export class Side {
  readonly place: Place;
  readonly people: People;
  /** What was seen to be wrong while it ran. */
  readonly violations: string[] = [];
  readonly #ground: Ground;
  readonly #api: ApiProxy;
  readonly #temporal: TemporalProxy;
  readonly #operators: Operators;
  readonly #faults: Faults;
  /** What people do again once the database was restored. */
  #sinceSaved: Change[] = [];

  private constructor(ground: Ground, place: Place, parts: Parts) {
    this.place = place;
    this.people = parts.people;
    this.#ground = ground;
    this.#api = parts.api;
    this.#temporal = parts.temporal;
    this.#operators = parts.operators;
    const { api, temporal, operators } = parts;
    this.#faults = new Faults({
      ...{ api, temporal, operators, place, servers: ground.servers },
      terminateRuns: () => terminateRuns(ground.temporal, place),
    });
  }

  /** Resolves once its operator is ready. */
  static async open(ground: Ground, schedule: Schedule, options: SideOptions): Promise<Side> {
    const place = newPlace(schedule.seed);
    const people = new People(ground.cluster, place);
    await people.moveIn();
    const file = join(ground.dir, `${place.taskQueue}.kubeconfig`);
    const api = await ApiProxy.start(ground.operatorKubeconfig, file);
    const temporal = await TemporalProxy.start(ground.temporalAddress);
    const { kubeconfig } = api;
    const { address: temporalAddress } = temporal;
    const where = { kubeconfig, temporalAddress, place, dir: ground.dir };
    const operators = new Operators({ ...options, ...where });
    const side = new Side(ground, place, { people, api, temporal, operators });
    await operators.start();
    return side;
  }

  get journal() {
    return this.#api.journal;
  }

  /** I14: one sentence each. */
  get deaths() {
    return this.#operators.deaths;
  }

  get logs() {
    return this.#operators.logs;
  }

  /** When the operator last wrote something; 0: never. */
  get lastWriteMs(): number {
    return writesOf(this.#api.journal).at(-1)?.atMs ?? 0;
  }

  /** Does all that the schedule says, ends all faults, and resolves once people have done what they began. */
  async play({ events }: Schedule): Promise<void> {
    for (const { afterMs, what } of events) {
      await pause(afterMs);
      await this.#begin(what);
    }
    await this.#faults.heal();
  }

  state(): Promise<State> {
    const { cluster, temporal } = this.#ground;
    return stateOf(cluster, temporal, this.place);
  }

  versions() {
    const { observer } = this.#ground;
    return [...observer.versionsIn(this.place.home), ...observer.versionsIn(this.place.team)];
  }

  async close(): Promise<void> {
    this.people.leave();
    await this.#faults.heal().catch(() => undefined);
    await this.#operators.stop();
    await this.#api.stop();
    await this.#temporal.stop();
    for (const namespace of [this.place.home, this.place.team]) this.#ground.observer.forget(namespace);
  }

  async #begin(what: What): Promise<void> {
    if (isFault(what)) {
      const isOfEtcd = what.fault === 'etcd is saved' || what.fault === 'etcd is restored';
      // Whether a change is in the copy must not be a matter of time.
      if (isOfEtcd)
        await Promise.race([this.people.done(), pause(PEOPLE_END_WITHIN_MS, undefined, { ref: false })]);
      if (what.fault === 'etcd is saved') this.#sinceSaved = [];
      await this.#faults.begin(what);
      if (what.fault === 'etcd is restored') for (const change of this.#sinceSaved) this.people.do(change);
    } else {
      this.people.do(what);
      this.#sinceSaved.push(what);
      if (what.change === 'probe') await this.#probe(what);
    }
  }

  /** What is wrong with something else must not keep it from being labelled. */
  async #probe({ pod }: Change & { readonly change: 'probe' }): Promise<void> {
    const at = { type: PODS, namespace: this.place.home, name: pod };
    await this.#operators.settled();
    const deadline = performance.now() + PROBED_WITHIN_MS;
    for (;;) {
      const found = await this.#ground.cluster.get(at).catch(() => undefined);
      if (found?.metadata.labels?.[POD_NAME_LABEL] === pod) break;
      if (performance.now() > deadline) {
        this.violations.push(
          `I7: Pod ${pod} got no label within ${PROBED_WITHIN_MS / 1000} s, for another's fault`,
        );
        break;
      }
      await pause(200);
    }
    this.#faults.endRefusals();
  }
}

interface Parts {
  readonly people: People;
  readonly api: ApiProxy;
  readonly temporal: TemporalProxy;
  readonly operators: Operators;
}
