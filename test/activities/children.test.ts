import { describe, expect, it } from '@jest/globals';
import { definedReconciler } from '../../activities/defined.ts';
import { ApiServer, type Request, type ServedType } from '../../testing/explorer/api-server.ts';
import type { Known } from '../../activities/run-memory.ts';
import { StepRun, type StepEnd } from '../../activities/step-run.ts';
import { DEPLOYMENTS, SERVICES } from '../../src/api/built-in.ts';
import type { Refusal } from '../../src/contract/decision.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { fieldsOf, listOf } from '../../src/controllers/fields.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { errorFromAnswer, type FailedAnswer } from '../../src/kubernetes/errors.ts';
import { Cluster, keyOf } from '../../testing/explorer/cluster.ts';
import { Website, website } from '../support/website.ts';

/** The steps of a website on a server that changes or refuses what is written. */

const NAME = 'front';
const REF = { controller: 'website', namespace: 'shop', name: NAME, uid: 'uid-of-front' };
const STEPS_MAX = 12;

interface Meddling {
  /** What becomes of the spec of a Deployment on its way. */
  readonly meddle?: (spec: object, writes: number) => object;
  readonly refuse?: FailedAnswer;
}

class World {
  readonly requests: string[] = [];
  readonly cluster: Cluster;
  readonly #server: ApiServer;
  readonly #meddling: Meddling;
  #writes = 0;

  constructor(meddling: Meddling) {
    let uids = 0;
    this.#meddling = meddling;
    const options = { clockMs: 0, freshUid: () => `uid-${(uids += 1)}`, onChange: () => undefined };
    this.cluster = new Cluster({}, options);
    const refused = meddling.refuse;
    const services: ServedType = { ...SERVICES, ...(refused && { refuse: () => refused }) };
    this.#server = new ApiServer([Website, DEPLOYMENTS, services], { ignoresVersions: false });
    const metadata = { name: NAME, namespace: 'shop', uid: REF.uid };
    this.cluster.create(Website, { metadata, spec: { image: 'one', replicas: 2, isPublic: true } });
  }

  get deployment(): KubernetesObject | undefined {
    return this.cluster.get(keyOf(DEPLOYMENTS, NAME));
  }

  /** The reason of the condition Ready. */
  get reason(): unknown {
    const { conditions } = fieldsOf(this.cluster.get(keyOf(Website, NAME))?.['status']);
    return listOf(conditions).find(({ type }) => type === 'Ready')?.['reason'];
  }

  /** As the run does it. @returns the steps, until nothing is left to do, or a step fails */
  async run(): Promise<readonly string[]> {
    const steps: string[] = [];
    let name = 'observe';
    let refusal: Refusal | undefined;
    let known: Known | undefined;
    while (steps.length < STEPS_MAX) {
      try {
        const end: StepEnd<unknown> = await this.#step(refusal).perform(name, known);
        known = end.known;
        refusal = end.refusal ?? refusal;
        name = end.next.do;
      } catch (error) {
        return [...steps, `failed: ${(error as { classification: string }).classification}`];
      }
      if (['converged', 'wait', 'stalled'].includes(name)) return steps;
      steps.push(name);
    }
    return steps;
  }

  #step(refusal: Refusal | undefined) {
    const context = { ref: REF, now: () => 0, superseded: new AbortController().signal, refusal };
    return new StepRun(definedReconciler(website, this.#client()), context);
  }

  #client(): KubernetesClient {
    return {
      server: 'the fake',
      fieldManager: 'durable-operator',
      watch: () => {
        throw new Error('steps do not watch');
      },
      close: () => Promise.resolve(),
      request: <T>(options: Request) => this.#answer(options) as Promise<T>,
    };
  }

  #answer(request: Request): Promise<unknown> {
    const { method, path } = request;
    if (method !== 'GET') this.requests.push(`${method} ${path.split('/').slice(-2).join('/')}`);
    const answer = this.#server.answer(this.cluster, request);
    if ('failed' in answer) return Promise.reject(errorFromAnswer(`${method} ${path}`, answer.failed));
    if (method !== 'GET' && path.includes('/deployments')) this.#meddle();
    const key = this.#server.keyOf(request);
    return Promise.resolve(method === 'PATCH' ? (this.cluster.get(key) ?? answer.body) : answer.body);
  }

  #meddle(): void {
    const { meddle = (spec: object) => spec } = this.#meddling;
    this.#writes += 1;
    this.cluster.change(keyOf(DEPLOYMENTS, NAME), (object) => ({
      ...object,
      spec: meddle(fieldsOf(object['spec']), this.#writes),
    }));
  }
}

describe('declared objects that are changed on their way', () => {
  it('are applied once more with a note, and are then as declared, also for whoever knows nothing', async () => {
    const world = new World({ meddle: (spec) => ({ ...spec, replicas: 7 }) });
    const steps = await world.run();
    expect(steps).toEqual(['createDeployment', 'createService', 'applyDeployment', 'updateStatus']);
    expect(world.deployment?.metadata.annotations).toHaveProperty(['durable-operator.dev/applied-as']);
    const before = [...world.requests];
    expect(await world.run()).toEqual([]);
    expect(world.requests).toEqual(before);
  });

  it('are told to be overridden where each answer is another one, and are then tried with backoff', async () => {
    const world = new World({ meddle: (spec, writes) => ({ ...spec, replicas: 10 + writes }) });
    const steps = await world.run();
    expect(steps.slice(-3)).toEqual(['updateStatus', 'applyDeployment', 'failed: overridden']);
    expect(world.reason).toBe('Overridden');
  });
});

describe('declared objects that the server refuses', () => {
  it('are told to be refused with its words, and are then tried with backoff', async () => {
    const status = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'exceeded quota: services' };
    const world = new World({ refuse: { status: 403, body: JSON.stringify(status) } });
    const steps = await world.run();
    expect(steps).toEqual([
      'createDeployment',
      'createService',
      'updateStatus',
      'createService',
      'failed: refused',
    ]);
    expect(world.reason).toBe('QuotaExceeded');
  });
});
