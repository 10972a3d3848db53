import type { Logger } from '../src/contract/logger.ts';
import { displayName, type ResourceRef } from '../src/contract/resource.ts';
import { POD_SET_KIND } from '../src/controllers/pod-set/resource.ts';
import type { Event, Recorder } from './events.ts';

/** What is done in a pass, in the words of its result. */
export type Deed = 'created' | 'deleted' | 'removed' | 'adopted' | 'released' | 'wrote the status';

export interface ReportDependencies {
  readonly recorder: Recorder;
  readonly log: Logger;
  readonly ref: ResourceRef;
  /** Of the Temporal run: the occasion of what happens in it. */
  readonly runId: string;
}

/** What people are told of a pass: its result, and Events on the PodSet. */
export class PodSetReport {
  readonly #to: ReportDependencies;
  readonly #deeds = new Map<Deed, number>();

  constructor(to: ReportDependencies) {
    this.#to = to;
  }

  did(deed: Deed, times: number): void {
    if (times > 0) this.#deeds.set(deed, (this.#deeds.get(deed) ?? 0) + times);
  }

  /** `created 3 Pods, deleted 1 Pod`; undefined: nothing was done. */
  get summary(): string | undefined {
    const deeds = [...this.#deeds].filter(([deed]) => deed !== 'wrote the status');
    if (deeds.length === 0) return this.#deeds.size === 0 ? undefined : 'updated the status';
    return deeds.map(([deed, times]) => `${deed} ${objectOf(deed, times)}`).join(', ');
  }

  adopted(names: readonly string[]): void {
    const why = 'the labels are those of its Pods, and nobody controlled them';
    this.#happened('Adopted', 'Adopt', `adopted ${listed(names)}: ${why}`);
  }

  released(names: readonly string[]): void {
    const why = 'the labels are not those of its Pods any more';
    this.#happened('Released', 'Release', `released ${listed(names)}: ${why}`);
  }

  /** To be told once a pass, and not with each Pod. */
  reached(replicas: number): void {
    if (this.#deeds.has('created'))
      this.#happened('Created', 'Create', `created Pods, up to the wanted number of ${replicas}`);
    if (this.#deeds.has('deleted'))
      this.#happened('Deleted', 'Delete', `deleted Pods, down to the wanted number of ${replicas}`);
  }

  /** @param why names the PodSet itself */
  invalidSpec(why: string): void {
    this.#record({ type: 'Warning', reason: 'InvalidSpec', action: 'Reconcile', note: why });
  }

  /** @param newest the UID of the one that failed last */
  failedPods(newest: string): void {
    const { name, namespace } = this.#to.ref;
    const look = `kubectl describe pods --selector app=${name} --namespace ${namespace}`;
    const note = `${this.#podSet}: Pods have failed, and are replaced after a pause, which grows each time; to see why: ${look}`;
    this.#record({ type: 'Warning', reason: 'FailedPods', action: 'Create', note, occasion: newest });
  }

  #happened(reason: string, action: string, what: string): void {
    const note = `${this.#podSet}: ${what}`;
    this.#record({ type: 'Normal', reason, action, note, occasion: this.#to.runId });
  }

  #record(event: Event): void {
    const { recorder, ref, log } = this.#to;
    recorder.record(ref, POD_SET_KIND, event, log);
  }

  get #podSet(): string {
    return `PodSet ${displayName(this.#to.ref)}`;
  }
}

function objectOf(deed: Deed, times: number): string {
  return `${times} ${deed === 'removed' ? 'failed ' : ''}${times === 1 ? 'Pod' : 'Pods'}`;
}

const NAMED_MOST = 5;

function listed(names: readonly string[]): string {
  const more = names.length > NAMED_MOST ? ` and ${names.length - NAMED_MOST} more` : '';
  return `${names.length === 1 ? 'Pod' : 'Pods'} ${names.slice(0, NAMED_MOST).join(', ')}${more}`;
}
