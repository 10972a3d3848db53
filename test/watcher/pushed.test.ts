import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PODS } from 'durable-operator';
import type { Controller } from '../../src/engine/controller.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { SILENT_LOGGER } from '../../src/api/logger.ts';
import { look } from '../../src/program/looking.ts';
import { Pushed, type PushedOptions, type ReconcileRequest } from '../../src/watcher/pushed.ts';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { RunsUnavailable } from '../../src/watcher/runs.ts';
import { FakeRuns } from '../support/fake-runs.ts';

const WEB: ReconcileRequest = { controller: 'greeter', namespace: 'shop', name: 'web' };
const REF = { controller: 'greeter', namespace: 'shop', name: 'web', uid: 'u1' };
const REST = { do: 'converged', because: 'it is greeted' } as const;
const DUE = { do: 'observe', because: 'it is not Ready' } as const;

/** What `observe` finds; it is counted. */
class Outside {
  observations = 0;
  isGreeted = true;
  failure: Error | undefined;
  /** Until it is resolved, an observation lasts. */
  gate: Promise<void> = Promise.resolve();

  async find(): Promise<boolean> {
    this.observations += 1;
    await this.gate;
    if (this.failure) throw this.failure;
    return this.isGreeted;
  }
}

interface Given {
  readonly outside?: Outside;
  readonly observes?: boolean;
  /** As the watcher shows it. Default: nobody watches. */
  readonly decision?: Evaluation['decision'];
  readonly isThere?: boolean;
  readonly namespaces?: readonly string[];
}

function aPushed({
  outside = new Outside(),
  observes = true,
  decision,
  isThere = true,
  namespaces = [],
}: Given) {
  const controller: Controller = {
    ...{ name: 'greeter', workflowType: 'greeter', summary: () => 'greets', steps: { greet: 'greet' } },
    ...{ primary: { type: PODS, view: () => 'a Pod' }, children: [], observation: (view) => view },
    ...{ permissions: [], ...(observes && { observes: true }) },
    decide: (isGreeted) => (isGreeted === true ? REST : { do: 'greet', because: 'nobody has greeted it' }),
  };
  const metadata = { namespace: 'shop', name: 'web', uid: 'u1', resourceVersion: '7', annotations: {} };
  const notFound = new ApiError('no such Pod', { classification: 'not-found' });
  const client = {
    fieldManager: 'a test',
    request: () => (isThere ? Promise.resolve({ metadata }) : Promise.reject(notFound)),
    // All that it takes of a client.
  } as unknown as KubernetesClient;
  const runs = new FakeRuns();
  const options: PushedOptions = {
    ...{ client, runs, namespaces },
    controllers: [controller],
    look: (ref) =>
      look(
        {
          reconciler: () => ({
            controller,
            observe: () => outside.find(),
            perform: () => Promise.reject(new Error('it writes nothing')),
          }),
          isNamespacePaused: () => Promise.resolve(false),
          log: SILENT_LOGGER,
        },
        ref,
      ),
    watched: () => decision && { ref: REF, decision, inputs: '', resourceVersion: '7' },
  };
  return { pushed: new Pushed(options), runs, outside };
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('what an outside system asks to look at', () => {
  it('costs nothing where the watch shows all that it is decided from, and nothing is to be done', async () => {
    const { pushed, runs } = aPushed({ observes: false, decision: REST });
    await pushed.reconcile(WEB);
    expect(runs.calls).toEqual([]);
  });

  it('is observed where no watch shows it, and makes no run where nothing is to be done', async () => {
    const { pushed, runs, outside } = aPushed({ decision: REST });
    await pushed.reconcile(WEB);
    expect(outside.observations).toBe(1);
    expect(runs.calls).toEqual([]);
  });

  it('gets the run that begins with what is to be done', async () => {
    const { pushed, runs, outside } = aPushed({ decision: REST });
    outside.isGreeted = false;
    await pushed.reconcile(WEB);
    expect(runs.requests).toMatchObject([
      {
        ref: REF,
        reason: 'an outside system has asked for a look: nobody has greeted it',
        first: { do: 'greet', summary: 'greet' },
      },
    ]);
  });

  it('is told to the run that is open, which looks by itself', async () => {
    const { pushed, runs, outside } = aPushed({ decision: DUE });
    runs.isOpen(REF);
    await pushed.reconcile(WEB);
    expect(runs.calls).toEqual(['signal web: an outside system has asked for a look']);
    expect(runs.changes).toEqual(['seen']);
    expect(outside.observations).toBe(0);
  });

  it('gets a run without a look where the watch shows that it needs one', async () => {
    const { pushed, runs, outside } = aPushed({ decision: DUE });
    await pushed.reconcile(WEB);
    expect(runs.calls.at(-1)).toBe('start web');
    expect(outside.observations).toBe(0);
  });

  it('is looked at in a process that does not watch, too', async () => {
    const { pushed, runs, outside } = aPushed({});
    outside.isGreeted = false;
    await pushed.reconcile(WEB);
    expect([outside.observations, runs.requests.length]).toEqual([1, 1]);
    runs.isOpen(REF);
    jest.advanceTimersByTime(1_000);
    await pushed.reconcile(WEB);
    expect([outside.observations, runs.requests.length]).toEqual([1, 1]);
  });

  it('may be gone', async () => {
    const { pushed, runs } = aPushed({ isThere: false });
    await pushed.reconcile(WEB);
    expect(runs.calls).toEqual([]);
  });
});

describe('a thousand requests for one resource', () => {
  it('are one look, and one more for those that came while it went on, a second later', async () => {
    const { pushed, outside } = aPushed({ decision: REST });
    let open: () => void = () => undefined;
    outside.gate = new Promise((resolve) => (open = resolve));
    const ask = (count: number) => Array.from({ length: count }, () => pushed.reconcile(WEB));
    const first = ask(500);
    await jest.advanceTimersByTimeAsync(10);
    expect(outside.observations).toBe(1);
    const then = ask(500);
    open();
    await Promise.all(first);
    await jest.advanceTimersByTimeAsync(980);
    expect(outside.observations).toBe(1);
    await jest.advanceTimersByTimeAsync(20);
    await Promise.all(then);
    expect(outside.observations).toBe(2);
    // And it keeps nothing of them.
    await jest.advanceTimersByTimeAsync(1_000);
    await pushed.reconcile(WEB);
    expect(outside.observations).toBe(3);
  });

  it('do not hold up another resource, of which sixteen are looked at side by side', async () => {
    const { pushed, outside } = aPushed({ decision: REST });
    let open: () => void = () => undefined;
    outside.gate = new Promise((resolve) => (open = resolve));
    const names = Array.from({ length: 20 }, (_, index) => `web-${index}`);
    const looks = names.map((name) => pushed.reconcile({ ...WEB, name }));
    await jest.advanceTimersByTimeAsync(10);
    expect(outside.observations).toBe(16);
    open();
    await Promise.all(looks);
    expect(outside.observations).toBe(20);
  });
});

describe('who asks is told', () => {
  it.each([
    [
      'that there is no such controller',
      { ...WEB, controller: 'greter' },
      'no controller greter runs; those that do are greeter',
    ],
    ['that a namespace is missing', { controller: 'greeter', name: 'web' }, 'Pod web needs a namespace'],
    [
      'that the namespace is left out',
      { ...WEB, namespace: 'x' },
      'namespace x is not one of those that the operator watches: shop',
    ],
  ])('%s', async (_, request, sentence) => {
    const { pushed } = aPushed({ namespaces: ['shop'] });
    await expect(pushed.reconcile(request)).rejects.toThrow(sentence);
  });

  it('that the outside system or Temporal is away, and may ask again', async () => {
    const { pushed, runs, outside } = aPushed({ decision: REST });
    outside.failure = new ApiError('it does not answer', { classification: 'unavailable' });
    await expect(pushed.reconcile(WEB)).rejects.toThrow('it does not answer');
    outside.failure = undefined;
    outside.isGreeted = false;
    runs.failure = new RunsUnavailable('Temporal is away');
    const again = pushed.reconcile(WEB);
    const isTold = expect(again).rejects.toThrow('Temporal is away');
    await jest.advanceTimersByTimeAsync(1_000);
    await isTold;
    runs.failure = undefined;
    const last = pushed.reconcile(WEB);
    await jest.advanceTimersByTimeAsync(1_000);
    await last;
    expect(runs.requests).toHaveLength(1);
  });
});
