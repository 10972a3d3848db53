/*
 * What may happen in a schedule: what people do to the cluster, and what goes wrong. All of it is plain data, so that a
 * schedule can be printed, repeated and cut down.
 */

/** What a person does. Safe where its object is not there: then nothing is done. */
export type Change =
  | { readonly change: 'create pod'; readonly pod: string; readonly annotation: string | null }
  | { readonly change: 'annotate pod'; readonly pod: string; readonly annotation: string | null }
  /** Null: the label is taken away. */
  | { readonly change: 'label pod'; readonly pod: string; readonly label: string | null }
  | { readonly change: 'delete pod'; readonly pod: string }
  | { readonly change: 'create set'; readonly set: string; readonly replicas: number }
  | { readonly change: 'scale set'; readonly set: string; readonly replicas: number }
  | { readonly change: 'delete set'; readonly set: string; readonly propagation: Propagation }
  /** Of the set's Pods, as many as there are at most. */
  | { readonly change: 'delete Pods of set'; readonly set: string; readonly count: number }
  /** They are given other labels, so that the set has to release them. */
  | { readonly change: 'relabel Pods of set'; readonly set: string; readonly count: number }
  /** Once the set is scaled down, some of its Pods are kept: by turns they lose the label `app`, or get another controller. */
  | { readonly change: 'take out Pods of set'; readonly set: string; readonly count: number }
  /** They lose their owner references, so that the set has to adopt them. */
  | { readonly change: 'orphan Pods of set'; readonly set: string; readonly count: number }
  /** All fail at once, and are deleted by hand while the set waits before it replaces them. */
  | { readonly change: 'fail Pods of set'; readonly set: string }
  /** Has the set's labels, and no controller: it is adopted. */
  | { readonly change: 'create orphan'; readonly set: string; readonly pod: string }
  /** Has the set's labels, and another controller. */
  | { readonly change: 'create foreign pod'; readonly set: string; readonly pod: string }
  | { readonly change: 'create build'; readonly build: string; readonly spec: BuildFields }
  | { readonly change: 'edit build'; readonly build: string; readonly spec: Partial<BuildFields> }
  | { readonly change: 'delete build'; readonly build: string; readonly propagation: Propagation }
  | { readonly change: 'skip cleanup'; readonly build: string }
  | { readonly change: 'delete Jobs of build'; readonly build: string }
  /** The Jobs lose their owner references. */
  | { readonly change: 'strip Jobs of build'; readonly build: string }
  | { readonly change: 'create foreign job'; readonly job: string }
  | { readonly change: 'delete foreign job'; readonly job: string }
  /** No Pod can be created in the home namespace while it is there. */
  | { readonly change: 'forbid Pods'; readonly forbidden: boolean }
  | { readonly change: 'select team'; readonly selected: boolean }
  | { readonly change: 'delete binding' }
  | { readonly change: 'edit binding' }
  /** Another role: the roleRef cannot be changed. */
  | { readonly change: 'replace binding' }
  /** One that is not the operator's has its name. */
  | { readonly change: 'create foreign binding' }
  | { readonly change: 'delete team' }
  | { readonly change: 'create team' }
  | { readonly change: 'pause'; readonly on: Target; readonly paused: boolean }
  | { readonly change: 'request reconcile'; readonly on: Target }
  | { readonly change: 'require approval'; readonly on: Target; readonly required: boolean }
  /** The plan that its status shows, or will show soon. */
  | { readonly change: 'approve'; readonly on: Target }
  /** As `approve`. */
  | { readonly change: 'reject'; readonly on: Target }
  /** Null: no longer. */
  | { readonly change: 'poll'; readonly on: Target; readonly interval: string | null }
  /** From now on, each plan that a status shows, rejected before or not. */
  | { readonly change: 'approve all' }
  /** A Pod that has to get its label within 20 s although something else goes wrong. */
  | { readonly change: 'probe'; readonly pod: string };

/** What an annotation is set on: a resource, or the Namespace that resources are in. */
export interface Target {
  readonly kind: 'pod' | 'set' | 'build' | 'namespace';
  /** Of a Namespace: `home` or `team`. */
  readonly name: string;
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface BuildFields {
  readonly jobName: string;
  readonly binaryName: string;
  /** What follows the name of the machine in the URL; it has a secret besides. */
  readonly repository: string;
  /** `go build` ends at once, `sleep infinity` never. */
  readonly buildCommand: string;
}

/** Which requests of the operator a fault is about. */
export interface Requests {
  readonly kind: 'write' | 'read' | 'watch' | 'any';
  /** The plural, such as `pods`. Default: any. */
  readonly resource?: string;
  /** Default: any. */
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  /** Default: both. */
  readonly namespace?: 'home' | 'team';
}

/** What goes wrong, for a number of requests or for a while. */
export type Fault =
  /** The operator is killed at its n-th write from now on, from 1, and started again. */
  | {
      readonly fault: 'crash';
      readonly write: number;
      readonly when: 'before it is sent' | 'after it is committed' | 'after the answer';
      readonly requests: Requests;
    }
  /** The operator ends, by this signal, and is away for a while. */
  | { readonly fault: 'stop'; readonly signal: 'SIGTERM' | 'SIGKILL'; readonly lastsMs: number }
  | { readonly fault: 'freeze'; readonly lastsMs: number }
  /** A second operator that leads, too. */
  | { readonly fault: 'second leader'; readonly lastsMs: number }
  /** The operator's wall clock is set by so much, and back. */
  | { readonly fault: 'clock step'; readonly stepMs: number; readonly lastsMs: number }
  | { readonly fault: 'lost answers'; readonly requests: Requests; readonly count: number }
  | { readonly fault: 'resets'; readonly requests: Requests; readonly count: number }
  | {
      readonly fault: 'answers';
      readonly status: Answered;
      readonly requests: Requests;
      readonly count: number;
      /** The header. Default: `1` for 429, else none. */
      readonly retryAfter?: string;
    }
  | {
      readonly fault: 'answers for a while';
      readonly status: Answered;
      readonly requests: Requests;
      readonly lastsMs: number;
    }
  /** Admission changes what the operator sends about one object. */
  | { readonly fault: 'admission'; readonly changes: Rewrite; readonly of: string; readonly lastsMs: number }
  /** A tenant creates hundreds of them in the home namespace, each with an annotation of 250 kB. */
  | {
      readonly fault: 'big objects';
      readonly kind: BigKind;
      readonly annotation: string;
      readonly lastsMs: number;
    }
  /** They arrive late, even where the operator no longer waits for the answer. */
  | { readonly fault: 'slow'; readonly requests: Requests; readonly byMs: number; readonly count: number }
  /** Events of watches come late. */
  | { readonly fault: 'watch lag'; readonly resource?: string; readonly lastsMs: number }
  /** Each event comes twice. */
  | { readonly fault: 'duplicates'; readonly lastsMs: number }
  /** Open watches say nothing any more, and are cut off in the end. */
  | { readonly fault: 'silence'; readonly lastsMs: number }
  /** Open watches end by the event 410 Gone, and the next ones are answered so. */
  | { readonly fault: 'watches expire'; readonly count: number }
  | { readonly fault: 'watches break' }
  | { readonly fault: 'api server away'; readonly lastsMs: number }
  | { readonly fault: 'temporal away'; readonly lastsMs: number }
  | { readonly fault: 'temporal loses answers'; readonly call: string; readonly count: number }
  | { readonly fault: 'temporal refuses'; readonly call: string; readonly count: number }
  /** By hand: what is open of the schedule's runs. */
  | { readonly fault: 'terminate runs' }
  /** By hand, what is open of the schedule's runs; a paused activity goes on after that time. */
  | { readonly fault: 'meddle with runs'; readonly how: Meddling; readonly lastsMs: number }
  /** Those below are about servers, which nobody else may use. */
  | { readonly fault: 'temporal restarts' }
  | { readonly fault: 'temporal is wiped' }
  | { readonly fault: 'api server restarts' }
  | { readonly fault: 'etcd is saved' }
  /** To what was saved last; what people have done since is done again. Draining: open watches end cleanly, and only later. */
  | { readonly fault: 'etcd is restored'; readonly isDraining?: boolean };

/** What admission changes: see rewrites.ts. */
export type Rewrite =
  | 'label of Pod'
  | 'version of Pods'
  | 'owner of Pods'
  | 'status of PodSet'
  | 'label of Job'
  | 'hash of Job'
  | 'finalizer of build'
  | 'subjects of RoleBinding';

export type BigKind = 'pods' | 'podsets' | 'xxxes';

export type Meddling = 'cancel' | 'reset' | 'pause activities';

/** `409` is a conflict; `403` is the authorizer's; `422` is an admission webhook's, which quotes what it was sent. */
export type Answered = 401 | 403 | 404 | 409 | 410 | 422 | 429 | 500 | 503 | 504;

export type What = Change | Fault;

export interface ScheduledEvent {
  /** Since the event before. */
  readonly afterMs: number;
  readonly what: What;
}

export interface Schedule {
  readonly seed: number;
  /** The operator's option. Default: it does not have it. */
  readonly requireApprovalOver?: number;
  readonly events: readonly ScheduledEvent[];
}

export function isFault(what: What): what is Fault {
  return 'fault' in what;
}

const SERVER_FAULTS: readonly string[] = [
  'temporal restarts',
  'temporal is wiped',
  'api server restarts',
  'etcd is saved',
  'etcd is restored',
];

/** Whether it needs servers that no other schedule uses meanwhile. */
export function needsOwnServers({ events }: Schedule): boolean {
  return events.some(({ what }) => isFault(what) && SERVER_FAULTS.includes(what.fault));
}

const LONG_WAIT_S = 60;

/** Whether the API server asks for a wait that is longer than anybody should wait. */
export function asksForLongWait({ events }: Schedule): boolean {
  return events.some(({ what }) => {
    const header = 'retryAfter' in what ? (what.retryAfter ?? '') : '';
    return Number(header) > LONG_WAIT_S || Date.parse(header) > Date.now();
  });
}

/** The same changes, and nothing goes wrong. */
export function undisturbed(schedule: Schedule): Schedule {
  return { ...schedule, events: schedule.events.filter(({ what }) => !isFault(what)) };
}

/** `+250 ms scale set: web-a, 3`: one line an event. */
export function printed({ events, requireApprovalOver }: Schedule): string {
  const lines = events.map(({ afterMs, what }, index) => `${index + 1}. +${afterMs} ms ${described(what)}`);
  const option = requireApprovalOver === undefined ? [] : [`--require-approval-over ${requireApprovalOver}`];
  return [...option, ...lines].join('\n');
}

export function described(what: What): string {
  const { name, ...fields } = isFault(what)
    ? { ...what, name: `FAULT ${what.fault}`, fault: undefined }
    : { ...what, name: what.change, change: undefined };
  const details = JSON.stringify(fields);
  return details === '{}' ? name : `${name} ${details}`;
}
