import { describe, expect, it, jest } from '@jest/globals';
import type { Control } from '../../src/contract/control.ts';
import { reasonOf, stalled, type Decision, type Held } from '../../src/contract/decision.ts';
import { BUILD_FINALIZER } from '../../src/controllers/git-build/resource.ts';
import { newsIn } from '../../src/watcher/news.ts';
import type { Request } from '../support/explorer/api-server.ts';
import type { Broken } from '../support/explorer/broken.ts';
import type { Cluster } from '../support/explorer/cluster.ts';
import { explore } from '../support/explorer/explorer.ts';
import { buildWorld } from '../support/explorer/git-build.ts';
import { ROLE_BINDING_WORLD } from '../support/explorer/namespace-role-binding.ts';
import { operatorIn } from '../support/explorer/operator.ts';
import { POD_LABEL_WORLD } from '../support/explorer/pod-label.ts';
import { podSetWorld } from '../support/explorer/pod-set.ts';
import type { Scenario } from '../support/explorer/scenario.ts';
import { notCounting, requiringApproval, withNamespace, type World } from '../support/explorer/world.ts';

jest.setTimeout(300_000);

/** More than it takes to find each of these. */
const STATES_MAX = 10_000;

/** A decision from something else than what is there. */
function seeing(change: (observation: Seen) => object): Broken {
  return {
    decide:
      (its) =>
      (observation, ...asked) => {
        const { podSet, build } = observation as Partial<Seen>;
        const isGone = podSet === 'gone' || build === 'gone';
        return its(isGone ? observation : change(observation as Seen), ...asked);
      },
  };
}

/** As much of the observations as is changed here. */
interface Seen {
  readonly podSet: object | 'gone';
  readonly pods: readonly object[];
  readonly build: object | 'gone';
}

/** Another decision than the controller's. */
function deciding(change: (decision: Decision) => Decision): Broken {
  return {
    decide:
      (its) =>
      (observation, ...asked) =>
        change(its(observation, ...asked)),
  };
}

/** The controller's own decision, where a person holds it and that does not count. */
function ignoring(
  by: Held['by'],
  controller: World['controller'],
  doesCount: (control: Control) => boolean,
): Broken {
  return {
    decide:
      (its) =>
      (observation, ...asked) => {
        const decision = its(observation, ...asked);
        const asks = controller.control?.(observation);
        const isIgnored =
          decision.do === 'held' && 'by' in decision && decision.by === by && asks !== undefined;
        return isIgnored && !doesCount(asks) ? controller.decide(observation, ...asked) : decision;
      },
  };
}

/** Also what is being deleted. */
function heldBy(observation: unknown): Held | undefined {
  const { build } = observation as Seen;
  const isPaused = build !== 'gone' && (build as Asking).control.isPaused;
  return isPaused ? { do: 'held', by: 'pause', because: 'paused', would: 'whatever it is' } : undefined;
}

/** As if nobody had requested anything. */
function withoutRequest({ control, ...rest }: Asking): object {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
  const { requestedAt: _, ...asked } = control;
  return { ...rest, control: asked };
}

interface Asking {
  readonly control: Control;
}

/** What a step goes by need not be as it was seen. */
const TRUSTS_ITS_VIEW: Broken = { reconciler: { confirm: (_, view) => Promise.resolve(view) } };

function withoutVersion(request: Request): Request {
  const { metadata, ...body } = request.body as { readonly metadata?: object };
  return { ...request, body: { ...body, metadata: { ...metadata, resourceVersion: undefined } } };
}

/** Each create brings another one, as with `generateName`. */
function withAnotherName(request: Request, cluster: Cluster): Request {
  if (request.method !== 'POST') return request;
  const { metadata, ...body } = request.body as { readonly metadata: { readonly name: string } };
  const name = `${metadata.name}${cluster.list({ plural: 'pods' }).length}`;
  return { ...request, body: { ...body, metadata: { ...metadata, name } } };
}

const POD_SET = podSetWorld({ replicas: 1 });
const BUILD = buildWorld();
const NAME_TAKEN = buildWorld({ foreignJobs: ['job'] });

type Mistake = readonly [
  what: string,
  world: World,
  scenario: Scenario,
  broken: Broken,
  found: string | RegExp,
];

const OF_WATCHERS: readonly Mistake[] = [
  [
    'a watcher of Pods to which nothing is news',
    POD_LABEL_WORLD,
    { slowness: 1 },
    { news: { newsIn: () => 'none' } },
    'it goes on for ever',
  ],
  [
    'a watcher of PodSets to which nothing is news',
    POD_SET,
    { slowness: 1 },
    { news: { newsIn: () => 'none' } },
    'it goes on for ever',
  ],
  [
    'a watcher to which inputs alone are news',
    ROLE_BINDING_WORLD,
    { slowness: 0, budget: { create: 1, remove: 1 } },
    { news: { newsIn: (view, reported) => (reported?.inputs === view.inputs ? 'none' : 'now') } },
    'the role binding is missing',
  ],
  [
    'a watcher that takes every step for the work of a run',
    ROLE_BINDING_WORLD,
    { slowness: 1, budget: { create: 1, remove: 1 } },
    {
      news: {
        newsIn: (view, reported) => {
          const news = newsIn(view, reported);
          return news === 'if unchanged' ? 'none' : news;
        },
      },
    },
    'the role binding is missing',
  ],
];

const PAUSABLE = withNamespace(POD_LABEL_WORLD);
const APPROVED = requiringApproval(podSetWorld({ replicas: 1, ours: ['web-a', 'web-b'] }));

const OF_HOLDS: readonly Mistake[] = [
  [
    'a run that does not look again while it is held',
    PAUSABLE,
    {
      ...{ slowness: 1, processes: 'two', delivery: 'at once' },
      budget: { pauseNamespace: 1, resumeNamespace: 1 },
    },
    { run: { rechecksWhileHeld: false } },
    'a run is held for ever',
  ],
  [
    'a pause that does not count',
    PAUSABLE,
    { slowness: 0, budget: { pause: 1 } },
    ignoring('pause', POD_LABEL_WORLD.controller, () => false),
    'addLabel is performed although there is a pause',
  ],
  [
    'a pause that holds a finalizer',
    BUILD,
    { slowness: 0, budget: { pause: 1, remove: 1 } },
    {
      decide:
        (its) =>
        (observation, ...asked) =>
          heldBy(observation) ?? its(observation, ...asked),
    },
    'it is being deleted, and stays',
  ],
  [
    'an approval that nobody gave',
    APPROVED,
    { slowness: 0 },
    ignoring('approval', APPROVED.controller, () => false),
    'deletes what is not approved',
  ],
  [
    'an approval that counts twice',
    notCounting(APPROVED),
    { slowness: 0, budget: { stray: 1 } },
    ignoring('approval', APPROVED.controller, ({ answer }) => answer === undefined),
    'deletes what is not approved',
  ],
  [
    'an approval of something else',
    APPROVED,
    { slowness: 0, budget: { scale: 1 } },
    ignoring('approval', APPROVED.controller, ({ answer }) => answer === undefined),
    'deletes what is not approved',
  ],
  [
    'a request that the status does not repeat',
    POD_SET,
    { slowness: 0, budget: { request: 1 } },
    seeing(({ podSet, ...rest }) => ({ ...rest, podSet: withoutRequest(podSet as Asking) })),
    'the last request is request 1, and the status says undefined',
  ],
  [
    'a watcher to which it is no news that a person holds what was stalled',
    notCounting(requiringApproval(ROLE_BINDING_WORLD)),
    { slowness: 0, budget: { edit: 2 } },
    {
      news: {
        newsIn: (view, reported) =>
          view.decision.do === 'held' && reported?.inputs === view.inputs ? 'none' : newsIn(view, reported),
      },
    },
    'a run is open, and the view calls for held',
  ],
];

const OF_RUNS: readonly Mistake[] = [
  [
    'a run that does not look again at a signal',
    BUILD,
    { slowness: 0 },
    { run: { looksAgain: false } },
    'it is Building in the end',
  ],
  [
    'a run that waits for what its killed worker would have done',
    POD_LABEL_WORLD,
    { slowness: 0, budget: { crash: 1 } },
    { run: { repeatsAfterCrash: false } },
    'the label is missing',
  ],
];

const OF_STEPS: readonly Mistake[] = [
  [
    'a write without the version that it was decided from',
    POD_LABEL_WORLD,
    { slowness: 0 },
    { request: withoutVersion },
    'carries nothing that it was decided from',
  ],
  [
    'a write of a label that does not fail where the Pod has changed',
    POD_LABEL_WORLD,
    { slowness: 0, budget: { annotate: 1 } },
    { ignoresVersions: true },
    'a label is written that the annotation does not ask for',
  ],
  [
    'a write of a role binding that does not fail where it has changed',
    ROLE_BINDING_WORLD,
    { slowness: 0, budget: { edit: 2 } },
    { ignoresVersions: true },
    'the role binding of somebody else is written',
  ],
  [
    'a step that trusts a view that lags behind',
    BUILD,
    { slowness: 1, budget: { deleteJob: 1 } },
    TRUSTS_ITS_VIEW,
    'n1/x is there, and the status knows ',
  ],
  [
    'Pods whose names differ from one attempt to the next',
    POD_SET,
    { slowness: 0, budget: { abandon: 1 } },
    { request: withAnotherName },
    'a Pod is created, and 1 of 1 are there',
  ],
];

const OF_CONTROLLERS: readonly Mistake[] = [
  [
    'a status of another generation',
    POD_SET,
    { slowness: 0, budget: { scale: 1 } },
    seeing(({ podSet, ...rest }) => ({ ...rest, podSet: { ...(podSet as object), generation: 1 } })),
    'the status is of another generation',
  ],
  [
    'Pods of somebody else taken for ours',
    podSetWorld({ replicas: 1, foreign: ['web-a', 'web-b'] }),
    { slowness: 0, budget: { forget: 1 } },
    seeing(({ pods, ...rest }) => ({
      ...rest,
      pods: pods.map((pod) => ({ ...pod, controllerUid: 'uid-of-web' })),
    })),
    'a Pod is deleted, and 1 of 1 are there',
  ],
  [
    'a Job before the finalizer',
    BUILD,
    { slowness: 0 },
    seeing(({ build, ...rest }) => ({
      ...rest,
      build: { ...(build as object), finalizers: [BUILD_FINALIZER] },
    })),
    'a Job is created for a build that has no finalizer',
  ],
  [
    'a finalizer that goes before the cleanup',
    BUILD,
    { slowness: 0, budget: { remove: 1 } },
    seeing(({ build, ...rest }) => ({ ...rest, build: { ...(build as object), skipCleanup: true } })),
    'the finalizer goes, and ',
  ],
  [
    'a cleanup that forgets where the binary is',
    BUILD,
    { slowness: 0, budget: { remove: 1 } },
    seeing(({ pods, ...rest }) => ({ ...rest, pods: pods.map((pod) => ({ ...pod, node: '' })) })),
    'n1/x',
  ],
  [
    'a wait without a timer for what no watch shows',
    NAME_TAKEN,
    { slowness: 0, budget: { freeName: 1 } },
    deciding((decision) =>
      reasonOf(decision).startsWith('waiting for the Job name') ? stalled('the name is taken') : decision,
    ),
    'it waits for a name that is free',
  ],
];

describe('the model finds', () => {
  it.each([...OF_WATCHERS, ...OF_HOLDS, ...OF_RUNS, ...OF_STEPS, ...OF_CONTROLLERS])(
    '%s',
    async (_, world, scenario, broken, found) => {
      await expect(explore(operatorIn(world, scenario, broken), STATES_MAX)).rejects.toThrow(found);
    },
  );

  it('a run that still goes by what it knew before a rest', async () => {
    const scenario = { slowness: 0, budget: { freeName: 1 } };
    const run = operatorIn(NAME_TAKEN, scenario, { run: { forgetsAtRest: false } });
    // It waits again and again, and nothing but the clock goes on.
    await expect(explore(run, 1_000)).rejects.toThrow('more than 1000 states');
    expect((await explore(operatorIn(NAME_TAKEN, scenario))).states).toBeLessThan(200);
  });
});
