import { dryRunOnly } from '../../../activities/dry-run.ts';
import { pausedNamespaces } from '../../../activities/objects/paused-namespaces.ts';
import { StepRun, type StepEnd } from '../../../activities/step-run.ts';
import type { Options } from '../../config/config.ts';
import { namespaceOf } from '../../api/resource-type.ts';
import { type Controller } from '../../engine/controller.ts';
import { isRest, isStep, type Step } from '../../runs/decision.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceRef } from '../../api/resource-ref.ts';
import { OutsideNotAsked } from '../../engine/bound.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError, isOf } from '../../kubernetes/errors.ts';
import { rehearsing, type Program } from '../../program/program.ts';
import { reconcilersOf, type Reconcilers } from '../../program/reconcilers.ts';
import { AskProblem } from '../ask.ts';
import { reconcilerOf } from '../cluster/live.ts';
import { pathOf, readObject } from '../cluster/objects.ts';
import type { Session } from '../session.ts';
import { configuredControllers } from '../controllers.ts';
import { whyLeftOut } from '../operator-words.ts';
import { namedResources, type NamedResource } from '../resource-name.ts';
import type { PlanManifest } from './manifests.ts';
import type { Plan, PlanEnd, PlannedStep } from './plan-lines.ts';
import { MayNotTry, Rehearsal, type PlannedWrite } from './rehearsal.ts';

/** More steps than any reconcile takes: 100,000 Pods, 150 at a time. */
const STEPS_MAX = 1_000;
/** So many steps in a row without a write: it waits for something. */
const IDLE_MAX = 3;
const FIELD_MANAGER = 'kubectl-durable';

/** Performs the steps of a controller with its own code, on a client that writes nothing. */
export class Planner {
  readonly #program: Program;
  readonly #client: KubernetesClient;
  readonly #rehearsal: Rehearsal;
  readonly #reconcilers: Reconcilers;
  /** The same, where nobody holds a step back. */
  readonly #unheld: Reconcilers;
  readonly #now: () => number;
  readonly #isPaused: (namespace: string) => Promise<boolean>;
  readonly #reconciliation: Options['reconciliation'];
  readonly #notes = new Set<string>();
  /** Controllers whose `observe` a plan must not call. */
  readonly #unobserved: ReadonlySet<string>;

  constructor(
    { program: asked, client }: Pick<Session, 'program' | 'client'>,
    options: Options,
    now: () => number,
  ) {
    const program = rehearsing(asked);
    const { controllers } = program;
    this.#unobserved = new Set(controllers.flatMap(({ name, isUnobserved }) => (isUnobserved ? name : [])));
    this.#program = program;
    this.#client = dryRunOnly(client);
    this.#rehearsal = new Rehearsal(client);
    this.#reconcilers = reconcilersOf(program, { client: this.#rehearsal, options });
    const reconciliation = { ...options.reconciliation, areHoldsLifted: true };
    this.#unheld = reconcilersOf(program, {
      client: this.#rehearsal,
      options: { ...options, reconciliation },
    });
    this.#now = now;
    this.#reconciliation = options.reconciliation;
    this.#isPaused = pausedNamespaces(this.#rehearsal);
  }

  /** Sentences about what the plans leave out, and what prevents them. */
  get notes(): readonly string[] {
    return [...this.#notes];
  }

  /** @param namespace of manifests that name none @throws AskProblem, ApiError */
  async ofFile(manifests: readonly PlanManifest[], namespace: string): Promise<readonly Plan[]> {
    const controllers = configuredControllers(this.#program);
    const plans: Plan[] = [];
    for (const manifest of manifests) {
      const its = controllers.filter(({ primary: { type } }) => isOfType(manifest, type));
      const { kind, metadata } = manifest;
      const resources = namedResources(its, metadata.name, metadata.namespace ?? namespace);
      const [first] = resources;
      if (first === undefined) {
        this.#notes.add(`${kind} ${metadata.name} is left out: the operator has no controller for its kind`);
        continue;
      }
      const { uid, applied } = await this.#apply(manifest, first);
      for (const resource of resources) {
        const plan = await this.of(uid, resource);
        plans.push(applied === undefined || resource !== first ? plan : { ...plan, applied });
      }
    }
    if (plans.length > 0) return plans;
    const kinds = controllers.map(({ primary }) => primary.type.kind).join(', ');
    throw new AskProblem(`the file has no resource of the operator; the kinds are ${kinds}`);
  }

  async #apply(
    manifest: PlanManifest,
    { object }: NamedResource,
  ): Promise<{ readonly uid: string; readonly applied: PlannedWrite | undefined }> {
    const path = pathOf(object);
    const before = await readObject(this.#client, object);
    const after = await this.#client.request<KubernetesObject>({
      method: 'PATCH',
      path,
      query: { dryRun: 'All', fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: manifest,
    });
    this.#rehearsal.pretend(path, after, before === undefined);
    const { uid } = after.metadata;
    if (before === undefined)
      return { uid, applied: { verb: 'create', path, before, after: manifest, isChecked: true } };
    const isSame = progressOf(before) === progressOf(after);
    return { uid, applied: isSame ? undefined : { verb: 'patch', path, before, after, isChecked: true } };
  }

  /** @throws ApiError if the resource cannot be read */
  async of(uid: string, { place, object: { type }, title: resource }: NamedResource): Promise<Plan> {
    const ref = { ...place, uid };
    const namespace = namespaceOf(ref, type);
    const isUnobserved = this.#unobserved.has(ref.controller);
    const plan = {
      resource,
      ...(namespace !== undefined && { namespace }),
      ...(isUnobserved && { observed: false as const }),
    };
    const leftOut = whyLeftOut(this.#reconciliation, { ...ref, namespace });
    if (leftOut) this.#notes.add(`the operator ignores ${resource} for now: ${leftOut.message}`);
    const now = await this.#rehearse(this.#reconcilers, ref, () => this.#isNamespacePaused(namespace));
    const { end, steps } = now;
    if (end.is !== 'rest' || end.next.do !== 'held') return { ...plan, ...now };
    const then = await this.#rehearse(this.#unheld, ref, () => Promise.resolve(false));
    const hold = { because: end.next.message, after: steps.length };
    return { ...plan, steps: [...steps, ...then.steps], hold, end: then.end };
  }

  /** The user may plan without the right to read the Namespace. */
  async #isNamespacePaused(namespace: string | undefined): Promise<boolean> {
    if (namespace === undefined) return false;
    try {
      return await this.#isPaused(namespace);
    } catch (error) {
      if (!isOf(error, 'access-denied')) throw error;
      this.#notes.add(`Namespace ${namespace} may be paused: you may not read it`);
      return false;
    }
  }

  async #rehearse(
    reconcilers: Reconcilers,
    ref: ResourceRef,
    isNamespacePaused: () => Promise<boolean>,
  ): Promise<Pick<Plan, 'steps' | 'end'>> {
    const superseded = new AbortController().signal;
    const context = { ref, now: this.#now, superseded, isNamespacePaused };
    const reconciler = reconcilerOf(reconcilers, ref);
    const run = new StepRun(reconciler, context);
    const steps: PlannedStep[] = [];
    try {
      return { steps, end: await this.#rehearseInto(steps, run, reconciler) };
    } catch (error) {
      if (error instanceof OutsideNotAsked) return { steps, end: { is: 'not observed' } };
      throw error;
    }
  }

  async #rehearseInto(
    steps: PlannedStep[],
    run: StepRun<unknown>,
    reconciler: Reconcilers[string],
  ): Promise<PlanEnd> {
    let end = await run.perform('observe', undefined);
    for (let idle = 0; steps.length < STEPS_MAX && idle < IDLE_MAX;) {
      const { next } = end;
      if (isRest(next)) return { is: 'rest', next };
      if (!isStep(next)) {
        end = await run.perform('observe', undefined);
        idle += 1;
        continue;
      }
      if (reconciler.isExternal?.(next.do) === true) {
        const { do: step, because } = next;
        return { is: 'outside', step, because };
      }
      const performed = await this.#perform(run, next, end.known);
      steps.push(...performed.steps);
      if ('end' in performed) return performed.end;
      idle = performed.steps.some(({ writes }) => writes.length > 0) ? 0 : idle + 1;
      end = performed.stepEnd;
    }
    return { is: 'no progress', step: end.next.do };
  }

  async #perform(
    run: StepRun<unknown>,
    { do: step, because }: Step,
    known: StepEnd<unknown>['known'],
  ): Promise<Performed> {
    try {
      const stepEnd = await run.perform(step, known);
      const { refusal } = stepEnd;
      const writes = this.#rehearsal.takeWrites();
      const planned = { step, because, writes, ...(refusal && { refusal: refusal.message }) };
      return { steps: writes.length === 0 && refusal === undefined ? [] : [planned], stepEnd };
    } catch (error) {
      const writes = this.#rehearsal.takeWrites();
      const steps = [{ step, because, writes }];
      if (error instanceof OutsideNotAsked)
        return { steps: writes.length === 0 ? [] : steps, end: { is: 'outside', step, because } };
      if (error instanceof MayNotTry) return { steps, end: { is: 'may not try', words: error.message } };
      if (error instanceof ApiError) return { steps, end: { is: 'refused', words: error.message } };
      throw error;
    }
  }
}

/** The result of one step: how to go on, or how the plan ends. */
type Performed = { readonly steps: readonly PlannedStep[] } & (
  { readonly stepEnd: StepEnd<unknown> } | { readonly end: PlanEnd }
);

function isOfType({ apiVersion, kind }: PlanManifest, type: Controller['primary']['type']): boolean {
  const { group, version } = type;
  return kind === type.kind && apiVersion === (group === '' ? version : `${group}/${version}`);
}

function progressOf({ metadata: { generation, labels = {}, annotations = {} } }: KubernetesObject): string {
  return JSON.stringify([generation, labels, annotations]);
}
