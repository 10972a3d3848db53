import { definedReconciler } from '../activities/defined-reconciler.ts';
import type { Reconciler } from '../activities/reconciler.ts';
import { sentenceOf, type Wait } from '../src/runs/decision.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { waitingFor } from '../src/runs/sentences.ts';
import { fieldsOf, listOf, type Fields } from '../src/api/fields.ts';
import { definedController } from '../src/engine/defined-controller.ts';
import { stepFor, type AnyDefinition } from '../src/engine/definition.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { errorFromAnswer, errorFromFailure, type FailedAnswer } from '../src/kubernetes/errors.ts';
import { checked } from './checked.ts';
import { factsOf, objectOf, type GivenResource } from './decisions.ts';
import { statusAnswer, wordsOf } from './explorer/api-server.ts';
import { accessOf, unpermitted } from './permitted.ts';

/** How the API server answers: with an object, a list `{ items }`, or as its name says. Metadata may be left out. */
export type FakeAnswer = keyof typeof FAILURES | 'hangs' | object;

/**
 * The answers by request: `GET jobs/backup`, `POST default/jobs`, `PATCH jobs/backup`. Of a list, one after the other; the last stays.
 */
export type Script = Readonly<Record<string, FakeAnswer | readonly FakeAnswer[]>>;

/** A step to run. */
export interface StepRequest {
  readonly step: string;
  readonly resource?: GivenResource;
  /** What the decision hands over. Default: nothing. */
  readonly data?: unknown;
}

/** An API server without a cluster. */
export interface FakeKubernetes {
  /** What was asked, in order: `GET jobs/backup`. Without the reads of the resource itself. */
  readonly requests: readonly { readonly request: string; readonly body: unknown }[];
  /** What `observe` returns. @throws what it throws, as the library classifies it */
  observe(controller: AnyDefinition, resource?: GivenResource): Promise<unknown>;
  /** What `run` says that it did, and what it waits for: `evicted Pod a/b, waiting for …`. @throws what it throws, likewise */
  run(controller: AnyDefinition, asked: StepRequest): Promise<string>;
}

/** Their status and its reason. */
const FAILURES = {
  missing: [404, 'NotFound'],
  'already-exists': [409, 'AlreadyExists'],
  conflict: [409, 'Conflict'],
  'disruption-budget': [429, 'TooManyRequests'],
  refused: [422, 'Invalid'],
  forbidden: [403, 'Forbidden'],
  unavailable: [503, 'ServiceUnavailable'],
} as const;

/**
 * Runs `observe` or a step by itself, against an API server that refuses, conflicts and hangs as the script says. Without a line
 * in the script, a GET finds nothing, and a write is accepted. What hangs is aborted by `signal` at once, as if ten seconds had
 * passed.
 *
 * @example
 * const kubernetes = fakeKubernetes({ 'POST default/jobs': ['unavailable', 'already-exists'] });
 * await assert.rejects(kubernetes.run(backup, { step: 'start' }), { classification: 'unavailable' });
 */
export function fakeKubernetes(script: Script = {}): FakeKubernetes {
  const requests: { request: string; body: unknown }[] = [];
  const asked = new Map<string, number>();
  const answerTo = (request: string): FakeAnswer | undefined => {
    const count = asked.get(request) ?? 0;
    asked.set(request, count + 1);
    const answers = [script[request] ?? []].flat() as readonly FakeAnswer[];
    return answers[Math.min(count, answers.length - 1)];
  };
  const startedWith = (controller: AnyDefinition, given: GivenResource = {}) => {
    const { definition } = checked(controller);
    const client = clientOf(definition, given, (options) => {
      const request = wordsOf(options);
      requests.push({ request, body: options.body });
      return answered(options, answerTo(request));
    });
    const reconciler: Reconciler = definedReconciler(definition, client);
    return { reconciler, definition, context: contextOf(definition, given) };
  };
  return {
    requests,
    async observe(controller, given) {
      const { reconciler, context } = startedWith(controller, given);
      const seen = (await reconciler.observe(context)) as Seen;
      return seen.live?.observed;
    },
    async run(controller, { step, resource, data }) {
      const { reconciler, context, definition } = startedWith(controller, resource);
      const seen = (await reconciler.observe(context)) as Seen;
      const facts = factsOf(definition, resource ?? {}, { observed: seen.live?.observed });
      const outcome = { is: 'step', step, because: 'a test asks for it', data } as const;
      const decided = stepFor({ definition, facts }, outcome);
      const { did, refusal, observation } = await reconciler.perform(decided, seen, context);
      if (refusal !== undefined) throw refusal;
      const { waiting } = (observation as Seen | undefined)?.live ?? {};
      const said = did.length === 0 ? [] : [sentenceOf(did)];
      return [...said, ...(waiting === undefined ? [] : [waitingFor(waiting.for)])].join(', ');
    },
  };
}

interface Seen {
  readonly live?: { readonly observed?: unknown; readonly waiting?: Wait };
}

function contextOf(definition: AnyDefinition, given: GivenResource) {
  const { namespace, name, uid } = objectOf(definition, given).metadata;
  return {
    ref: { controller: definition.name, namespace: namespace ?? name, name, uid },
    now: () => 0,
    superseded: new AbortController().signal,
    idempotencyKey: () => 'key-of-the-test',
  };
}

function clientOf(
  definition: AnyDefinition,
  given: GivenResource,
  ask: (options: RequestOptions) => Promise<unknown>,
): KubernetesClient {
  const { permissions, primary } = definedController(definition);
  const resource = objectOf(definition, given);
  const isOfResource = ({ method, path }: RequestOptions) =>
    method === 'GET' && path.endsWith(`/${primary.type.plural}/${resource.metadata.name}`);
  // Where its type has selectors, it is read by a list.
  const isListOfResource = ({ method, path, query = {} }: RequestOptions) =>
    method === 'GET' &&
    path.endsWith(`/${primary.type.plural}`) &&
    String(query['fieldSelector']).startsWith(`metadata.name=${resource.metadata.name}`);
  return {
    server: 'a fake',
    fieldManager: 'a fake',
    watch: () => {
      throw new Error('steps do not watch');
    },
    close: () => Promise.resolve(),
    async request<T>(options: RequestOptions) {
      if (isOfResource(options)) return resource as T;
      if (isListOfResource(options)) return { metadata: {}, items: [resource] } as T;
      unpermitted(options, permissions);
      return (await ask(options)) as T;
    },
  };
}

function answered(options: RequestOptions, answer: FakeAnswer | undefined): Promise<unknown> {
  const { method, path, body, signal } = options;
  const words = `${method} ${path}`;
  const refuse = (by: keyof typeof FAILURES) =>
    Promise.reject(errorFromAnswer(words, failureOf(by, options)));
  if (answer === 'hangs')
    return Promise.reject(errorFromFailure(words, signal?.reason ?? 'the time of the step is over'));
  if (typeof answer === 'string') return refuse(answer);
  if (answer !== undefined) return Promise.resolve(completed(answer, options));
  if (method !== 'GET') return Promise.resolve(accepted(body));
  return accessOf(options).verb === 'list' ? Promise.resolve({ metadata: {}, items: [] }) : refuse('missing');
}

function failureOf(by: keyof typeof FAILURES, options: RequestOptions): FailedAnswer {
  const [code, reason] = FAILURES[by];
  const { resource: kind, name = 'example', verb } = accessOf(options);
  // As RBAC says it.
  const why = by === 'forbidden' ? `forbidden: User "operator" cannot ${verb} resource "${kind}"` : reason;
  const causes = by === 'disruption-budget' && [{ reason: 'DisruptionBudget', message: BUDGET }];
  const details = { kind, name, ...(causes && { causes }) };
  return statusAnswer(code, { reason, message: `${kind} "${name}": ${why}`, details });
}

const BUDGET = 'The disruption budget example does not allow it';

/** With the metadata that the script leaves out. */
function completed(answer: object, options: RequestOptions): object {
  const { name, resource } = accessOf(options);
  const named = (object: Fields, given: object) =>
    accepted({ ...object, metadata: { ...given, ...fieldsOf(object['metadata']) } });
  if (!('items' in answer)) return named(fieldsOf(answer), { name });
  const items = listOf(answer.items).map((item, place) => {
    const its = `${resource}-${place}`;
    return named(item, { name: its, uid: `uid-of-${its}` });
  });
  return { metadata: {}, ...answer, items };
}

/** As the server made it. */
function accepted(body: unknown): object {
  const { metadata, ...object } = body as Partial<KubernetesObject>;
  return { ...object, metadata: { uid: 'uid-of-the-answer', resourceVersion: '2', ...metadata } };
}
