import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { pausedNamespaces } from '../../activities/paused-namespaces.ts';
import { StepRun, type Reconciler, type StepEnd } from '../../activities/reconcile.ts';
import { reconcilersFor } from '../../activities/reconcilers.ts';
import type { Options } from '../config/config.ts';
import type { Controller } from '../contract/controller.ts';
import { isStep, type Observe, type Step } from '../contract/decision.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { displayName, type ResourceRef } from '../contract/resource.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { found } from '../kubernetes/found.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { AskProblem, inSession, type Ask, type ExitStatus } from './ask.ts';
import { ASK_COMMANDS } from './commands.ts';
import { withConnectionOptions, withOutput, type ConnectionOptions } from './connection-options.ts';
import { dryRunOnly } from './dry-run.ts';
import { paintFor, structured } from './output.ts';
import { structureOf, textOfPlan, type Plan, type PlanEnd, type PlannedStep } from './plan-lines.ts';
import { MayNotTry, Rehearsal, type Write } from './rehearsal.ts';
import { parseNamedResource, placeOf } from './resource-name.ts';
import { controllersOf, optionsOf, type Session } from './session.ts';
import { readTarget } from './targets.ts';

interface PlanOptions extends ConnectionOptions {
  readonly filename?: string;
  readonly output?: 'json' | 'yaml';
}

export function addPlan(program: Command, ask: Ask): void {
  const command = program
    .command('plan')
    .description(ASK_COMMANDS.plan)
    .argument('[resource...]', 'KIND/NAME or KIND NAME')
    .option('-f, --filename <file>', 'as if this file were applied; - for standard input');
  withOutput(withConnectionOptions(command), ['json', 'yaml']).action(
    (words: string[], options: PlanOptions) =>
      inSession(ask, options, (session) => answerPlan(ask, { session, words, options })),
  );
}

interface Question {
  readonly session: Session;
  readonly words: readonly string[];
  readonly options: PlanOptions;
}

/** 1 where there is something to do, as `kubectl diff` has it. */
async function answerPlan(ask: Ask, question: Question): Promise<ExitStatus> {
  const plans = await plansFor(ask, question);
  const { output } = question.options;
  if (output !== undefined) {
    const structures = plans.map(structureOf);
    ask.stdout.write(await structured(structures.length === 1 ? structures[0] : structures, output));
  } else {
    const paint = paintFor(ask);
    ask.stdout.write(plans.map((plan) => textOfPlan(plan, paint)).join('\n'));
    ask.stderr.write('nothing was written: the API server has checked each write with dryRun=All\n');
  }
  return plans.every(isUpToDate) ? 0 : 1;
}

function isUpToDate({ applied, steps, end }: Plan): boolean {
  return applied === undefined && steps.length === 0 && end.is === 'rest' && end.next.do === 'converged';
}

async function plansFor(ask: Ask, { session, words, options }: Question): Promise<readonly Plan[]> {
  const { filename } = options;
  if ((filename === undefined) === (words.length === 0))
    throw new AskProblem('name a resource, KIND/NAME, or a file, -f FILE');
  const settings = await session.settings();
  const controllers = controllersOf(settings);
  const planner = new Planner(session.client, optionsOf(settings), ask.now);
  if (filename !== undefined)
    return planner.ofFile(await manifestsIn(filename), { controllers, namespace: session.namespace });
  const resource = parseNamedResource(words, controllers);
  const { type } = resource.controller.primary;
  const { namespace, client } = session;
  const { uid } = await readTarget(client, { type, namespace, name: resource.name });
  return [await planner.of({ ...placeOf(resource, namespace), uid }, resource.controller)];
}

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
});
export type Manifest = z.infer<typeof Manifest>;

async function manifestsIn(file: string): Promise<readonly Manifest[]> {
  const content = await (file === '-' ? readAll(process.stdin) : readFile(file, 'utf8')).catch(
    (error: unknown) => {
      throw new AskProblem(
        `${file}: ${error instanceof Error ? error.message : String(error)}; name a readable file`,
      );
    },
  );
  return parseManifests(content, file);
}

/** @throws AskProblem */
export function parseManifests(content: string, file: string): readonly Manifest[] {
  const documents = [...parseAllDocuments(content)].filter(
    (document) => document.errors.length > 0 || document.toJS() !== null,
  );
  if (documents.length === 0) throw new AskProblem(`${file}: there is nothing in it; name another file`);
  return documents.map((document, index) => {
    const [error] = document.errors;
    const words = error?.message.split('\n', 1)[0]?.replace(/:$/, '');
    if (words !== undefined) throw new AskProblem(`${file}: ${words}; correct the file`);
    const parsed = Manifest.safeParse(document.toJS());
    if (parsed.success) return parsed.data;
    const which = `document ${index + 1}`;
    throw new AskProblem(`${file}: ${which} needs apiVersion, kind and metadata.name; correct the file`);
  });
}

interface FileScope {
  readonly controllers: readonly Controller[];
  /** Of what names none. */
  readonly namespace: string;
}

/** More steps than any reconcile takes: 100,000 Pods, 150 at a time. */
const STEPS_MAX = 1_000;
/** The same step without a write, so often: it waits for something. */
const IDLE_MAX = 3;
/** How often decide asks for it is no business of a plan. */
const FIELD_MANAGER = 'kubectl-durable';

/** Has a controller's own steps performed by its own code, on a client that writes nothing. */
export class Planner {
  readonly #client: KubernetesClient;
  readonly #rehearsal: Rehearsal;
  readonly #reconcilers: Readonly<Record<string, Reconciler<unknown, Step>>>;
  readonly #now: () => number;
  readonly #isPaused: (namespace: string) => Promise<boolean>;

  constructor(client: KubernetesClient, options: Options, now: () => number) {
    this.#client = dryRunOnly(client);
    this.#rehearsal = new Rehearsal(client);
    this.#reconcilers = reconcilersFor({ client: this.#rehearsal, options });
    this.#now = now;
    this.#isPaused = pausedNamespaces(this.#rehearsal);
  }

  /** @throws AskProblem, ApiError */
  async ofFile(manifests: readonly Manifest[], scope: FileScope): Promise<readonly Plan[]> {
    const plans: Plan[] = [];
    for (const manifest of manifests) {
      const controller = scope.controllers.find(({ primary: { type } }) => isOfType(manifest, type));
      if (controller === undefined) continue;
      const { ref, applied } = await this.#apply(manifest, controller, scope.namespace);
      const plan = await this.of(ref, controller);
      plans.push(applied === undefined ? plan : { ...plan, applied });
    }
    if (plans.length > 0) return plans;
    const kinds = scope.controllers.map(({ primary }) => primary.type.kind).join(', ');
    throw new AskProblem(`the file has nothing that a controller is responsible for; the kinds are ${kinds}`);
  }

  /** As if it were applied: the API server says what would come of it. */
  async #apply(
    manifest: Manifest,
    controller: Controller,
    defaultNamespace: string,
  ): Promise<{ readonly ref: ResourceRef; readonly applied: Write | undefined }> {
    const { type } = controller.primary;
    const { name } = manifest.metadata;
    const namespace = type.namespaced ? (manifest.metadata.namespace ?? defaultNamespace) : undefined;
    const path = resourcePath(type, { namespace, name });
    const before = await found(this.#client.request<KubernetesObject>({ method: 'GET', path }));
    const after = await this.#client.request<KubernetesObject>({
      method: 'PATCH',
      path,
      query: { dryRun: 'All', fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: manifest,
    });
    this.#rehearsal.pretend(path, after, before === undefined);
    const { uid } = after.metadata;
    const ref = { controller: controller.name, namespace: namespace ?? name, name, uid };
    const isChanged =
      before?.metadata.generation !== after.metadata.generation || !isSameMetadata(before, after);
    const write: Write = {
      verb: before === undefined ? 'create' : 'patch',
      path,
      before,
      after: before === undefined ? manifest : after,
      isChecked: true,
    };
    return { ref, applied: isChanged ? write : undefined };
  }

  /** @throws ApiError where the resource cannot be read */
  async of(ref: ResourceRef, controller: Controller): Promise<Plan> {
    const reconciler = this.#reconcilers[ref.controller];
    if (reconciler === undefined) throw new Error(`there is no controller ${ref.controller}`);
    const superseded = new AbortController().signal;
    const isNamespacePaused = () => this.#isPaused(ref.namespace);
    const run = new StepRun(reconciler, { ref, now: this.#now, superseded, isNamespacePaused });
    const resource = `${controller.primary.type.kind} ${displayName(ref)}`;
    return { resource, ...(await this.#rehearse(run)) };
  }

  async #rehearse(run: StepRun<unknown, Step, Observe>): Promise<Pick<Plan, 'steps' | 'end'>> {
    const steps: PlannedStep[] = [];
    let end: StepEnd<unknown> = await run.perform('observe', undefined);
    for (let idle = 0; steps.length < STEPS_MAX && idle < IDLE_MAX;) {
      const { next } = end;
      if (!isStep(next)) {
        if (next.do !== 'observe') return { steps, end: { is: 'rest', next } };
        end = await run.perform('observe', undefined);
        idle += 1;
        continue;
      }
      const performed = await this.#perform(run, next, end.known);
      steps.push(...performed.steps);
      if ('end' in performed) return { steps, end: performed.end };
      idle = performed.steps.some(({ writes }) => writes.length > 0) ? 0 : idle + 1;
      end = performed.stepEnd;
    }
    return { steps, end: { is: 'no progress', step: end.next.do } };
  }

  async #perform(
    run: StepRun<unknown, Step, Observe>,
    { do: step, because }: Step,
    known: StepEnd<unknown>['known'],
  ): Promise<
    { readonly steps: readonly PlannedStep[] } & (
      { readonly stepEnd: StepEnd<unknown> } | { readonly end: PlanEnd }
    )
  > {
    try {
      const stepEnd = await run.perform(step, known);
      const { refusal } = stepEnd;
      const writes = this.#rehearsal.takeWrites();
      const planned = { step, because, writes, ...(refusal && { refusal: refusal.message }) };
      return { steps: writes.length === 0 && refusal === undefined ? [] : [planned], stepEnd };
    } catch (error) {
      const steps = [{ step, because, writes: this.#rehearsal.takeWrites() }];
      if (error instanceof MayNotTry) return { steps, end: { is: 'may not try', words: error.message } };
      if (error instanceof ApiError) return { steps, end: { is: 'refused', words: error.message } };
      throw error;
    }
  }
}

function isOfType({ apiVersion, kind }: Manifest, type: Controller['primary']['type']): boolean {
  const { group, version } = type;
  return kind === type.kind && apiVersion === (group === '' ? version : `${group}/${version}`);
}

function isSameMetadata(before: KubernetesObject | undefined, after: KubernetesObject): boolean {
  const texts = [before, after].map((object) =>
    JSON.stringify([object?.metadata.labels ?? {}, object?.metadata.annotations ?? {}]),
  );
  return texts[0] === texts[1];
}
