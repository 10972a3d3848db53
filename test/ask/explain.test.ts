import { describe, expect, it } from '@jest/globals';
import { explain } from '../../src/ask/why/explain.ts';
import { explanationText } from '../../src/ask/why/explanation.ts';
import type { RunTimeline, StepEntry } from '../../src/temporal/timeline.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { controllersOf } from '../../src/ask/controllers.ts';
import { converged } from '../../src/contract/decision.ts';
import { controlOf } from '../../src/controllers/control/annotations.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import {
  ago,
  CLOSED,
  done,
  FINDINGS,
  plain,
  reached,
  RUN,
  textFor,
  TIMELINE,
  web,
} from '../support/findings.ts';
import { aPodOf } from '../support/pod-sets.ts';

describe('why, of an open run,', () => {
  it('that is retrying, names the step, the attempt, the server’s words, and when it tries next', () => {
    const message =
      'POST /api/v1/namespaces/shop/pods: 403 pods "web-pod-x" is forbidden: exceeded quota: compute';
    const pending = [
      { step: 'createPods', attempt: 6, failure: { type: 'Refused', message }, nextTryAtMs: ago(-21) },
    ];
    const signal = {
      kind: 'signal',
      atMs: ago(30),
      signal: 'changed',
      reason: 'the spec changed',
      by: '',
    } as const;
    const text = textFor({
      temporal: reached({ run: { ...RUN, pending }, timeline: { ...TIMELINE, entries: [signal] } }),
    });
    expect(text).toBe(`PodSet shop/web is retrying: 1 of 3 Pods, for 4m12s

  wanted    3 Pods (generation 2)
  there     1 available, 1 ready, 0 failed
  step      createPods, attempt 6, next in 21s
  because   pods "web-pod-x" is forbidden: exceeded quota: compute
  signal    30s ago: the spec changed
  you can   raise the quota or lower spec.replicas; either is noticed at once
            kubectl describe quota -n shop                  show the quota
            kubectl durable retry podset/web -n shop        try again now
            kubectl durable history podset/web -n shop      what happened before

  http://ui/run
`);
  });

  it('that waits, says for what, and when it looks again', () => {
    const wait = {
      kind: 'wait',
      atMs: ago(10),
      summary: 'recheck: waiting for …',
      atMostMs: 40_000,
      end: { how: 'in progress' },
    } as const;
    const rest = done({ do: 'wait', because: 'waiting for the pause after failed Pods to end' });
    const text = textFor({ temporal: reached({ timeline: { ...TIMELINE, entries: [rest, wait] } }) });
    expect(text).toContain('PodSet shop/web is waiting: 1 of 3 Pods, for 4m12s\n');
    expect(text).toContain('  for       the pause after failed Pods to end\n');
    expect(text).toContain('  next      looks again as soon as that happens, or in 30s\n');
    expect(text).toContain('kubectl describe pods -n shop -l app=web,version=v0.1');
  });

  it('that is stalled, says that waiting does not help, and what does', () => {
    const rest = done({ do: 'stalled', because: 'spec.replicas must be at least 0' });
    const run = { ...RUN, runState: 'Stalled' as const };
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries: [rest] } }) });
    expect(text).toContain('is stalled');
    expect(text).toContain('  because   spec.replicas must be at least 0\n');
    expect(text).toContain('  retries   none: waiting does not help');
    expect(text).toContain('  you can   correct spec.replicas');
  });

  it.each([
    ['Paused' as const, 'is paused', 'kubectl durable resume podset/web -n shop'],
    ['AwaitingApproval' as const, 'is awaiting approval', 'kubectl durable approve podset/web -n shop'],
  ])('that is %s, names the command that lets it go on', (runState, headline, command) => {
    const text = textFor({ temporal: reached({ run: { ...RUN, runState } }) });
    expect(text).toContain(headline);
    expect(text).toContain(command);
  });

  it('that is paused in Temporal, names who has paused it, and the command that ends that', () => {
    const pause = {
      atMs: ago(90),
      words: 'by alice: not now',
      undo: 'temporal workflow unpause --workflow-id w',
    };
    const text = textFor({ temporal: reached({ run: { ...RUN, pause, runState: 'Stalled' } }) });
    expect(text).toContain('PodSet shop/web is paused in Temporal: 1 of 3 Pods');
    expect(text).toContain('  paused    1m30s ago by alice: not now\n');
    expect(text).toContain('  you can   temporal workflow unpause --workflow-id w');
  });

  it('whose resource is gone, and that is paused in Temporal, does not say that it ends by itself', () => {
    const pause = { atMs: ago(90), words: 'by alice', undo: 'temporal workflow unpause --workflow-id w' };
    const text = textFor({ cluster: { is: 'gone' }, temporal: reached({ run: { ...RUN, pause } }) });
    expect(text).toContain('  because   paused in Temporal by alice\n');
    expect(text).toContain('  you can   temporal workflow unpause --workflow-id w');
  });

  it('that takes a key to read, is explained by what the controller decides now', () => {
    const rest: StepEntry = {
      ...done({ do: '', because: '' }),
      end: { how: 'done', tookMs: 1, did: 'encrypted', next: undefined, refusal: undefined },
    };
    const run = { ...RUN, runState: 'Stalled' as const };
    const live = {
      ...(FINDINGS.live as object),
      observation: { podSet: web.view, pods: [], lookedFor: [] },
      next: { do: 'stalled', because: 'decided just now' },
    } as const;
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries: [rest] } }), live });
    expect(text).toContain('  because   decided just now\n');
  });

  it('whose workflow task fails, says why, and what brings it on', () => {
    const message = 'a payload is encrypted with key "old"; add it to the payload keys';
    const timeline = { ...TIMELINE, taskFailure: { type: undefined, message } };
    const text = textFor({ temporal: reached({ run: { ...RUN, workflowTaskAttempt: 12 }, timeline }) });
    expect(text).toContain('PodSet shop/web is retrying: 1 of 3 Pods');
    expect(text).toContain('  step      workflow task, attempt 12');
    expect(text).toContain(`  because   ${message}\n`);
    expect(text).toContain('temporal workflow terminate --workflow-id pod-set/shop/web/u');
    expect(text).not.toContain('durable retry');
  });

  it('that goes on after a wait, does not call the wait a step', () => {
    const entries = [done({ do: 'wait', because: 'waiting for Job shop/build to end' })];
    const run = { ...RUN, workflowTaskAttempt: 1 };
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries } }) });
    expect(text).toContain('is being reconciled');
    expect(text).not.toContain('  step ');
  });

  it('that a worker is about to take, is being reconciled', () => {
    const text = textFor({ temporal: reached({ run: { ...RUN, workflowTaskAttempt: 1 } }) });
    expect(text).toContain('is being reconciled: 1 of 3 Pods');
  });
});

describe('why, without an open run,', () => {
  const timeline: RunTimeline = {
    ...TIMELINE,
    end: { atMs: ago(60), how: 'completed', words: 'created 3 Pods' },
  };
  const atRest = { run: CLOSED, timeline };
  const upToDate = {
    observation: { podSet: web.view, pods: [aPodOf(web).view], lookedFor: [] },
    next: converged('its Pods and its status are up to date'),
  };

  it('says that nothing is needed, and what the last reconcile did', () => {
    const text = textFor({ temporal: reached(atRest), live: upToDate });
    expect(text).toBe(`PodSet shop/web is up to date: 1 of 3 Pods

  wanted    3 Pods (generation 2)
  there     1 available, 1 ready, 0 failed
  found     its Pods and its status are up to date
  last run  ended 1m ago: created 3 Pods
  reason    there are 0 Pods, and spec.replicas is 3
  you can   kubectl durable history podset/web -n shop      what happened before

  http://ui/run
`);
  });

  it('says what the controller would do, where nobody does it', () => {
    const text = textFor({ temporal: reached(atRest) });
    expect(text).toContain('needs a reconcile, and no run is open for it');
    expect(text).toContain('  next      createPods: there is 1 Pod, and spec.replicas is 3\n');
  });

  it('says that the operator is not known', () => {
    const text = textFor({ temporal: reached({ ...atRest, settings: undefined, otherTaskQueues: ['b'] }) });
    expect(text).toContain('no operator has task queue "durable-operator"; there are operators with "b"');
    expect(text).toContain('kubectl durable why podset/web -n shop --task-queue b');
  });

  it('says that the plugin is too old for the operator', () => {
    const text = textFor({ temporal: reached({ ...atRest, settings: undefined, unreadable: '9.0.0' }) });
    expect(text).toContain(
      'the operator with task queue "durable-operator" is version 9.0.0; this plugin, version ',
    );
    expect(text).toContain('you can   update the plugin\n');
    expect(text).not.toContain('start the operator');
  });

  it('says that the operator of the task queue is for another cluster', () => {
    const others = { settings: undefined, otherTaskQueues: [], otherCluster: 'prod-2' };
    const text = textFor({ temporal: reached({ ...atRest, ...others }) });
    expect(text).toContain('the operator with task queue "durable-operator" is for another cluster, prod-2');
    expect(text).toContain('start an operator for this cluster with a --task-queue of its own');
  });

  const { reconciliation } = defaultOptions();

  it.each([
    [{ ...reconciliation, controllers: ['pod-label' as const] }, 'without the controller pod-set'],
    [
      { ...reconciliation, namespaces: ['other'] },
      'watches only the namespaces other (--namespaces), and not shop',
    ],
  ])('says what the operator leaves out (%#)', (changed, words) => {
    const settings = { version: '1.0', options: { ...defaultOptions(), reconciliation: changed } };
    const explanation = explain({ ...FINDINGS, temporal: reached({ ...atRest, settings }) });
    expect(explanation).toMatchObject({ state: 'Ignored', exit: 0 });
    expect(explanationText(explanation, plain)).toContain(words);
  });

  it('says that its namespace is being deleted', () => {
    const metadata = {
      name: 'shop',
      uid: 'n',
      resourceVersion: '1',
      deletionTimestamp: '2026-01-01T00:00:00Z',
    };
    const cluster = { is: 'there', object: web.object, namespace: { metadata } } as const;
    expect(textFor({ cluster, temporal: reached(atRest) })).toContain('its namespace shop is being deleted');
  });

  it('says whose finalizers hold a resource that the operator is done with', () => {
    const object = web.beingDeleted().object;
    const metadata = { ...object.metadata, finalizers: ['example.com/theirs'] };
    const cluster = { is: 'there', object: { ...object, metadata }, namespace: undefined } as const;
    const text = textFor({ cluster, temporal: reached(atRest), live: upToDate });
    expect(text).toContain('is being deleted, and the operator has nothing left to do');
    expect(text).toContain('held by example.com/theirs');
  });

  it('says what is wrong with an annotation', () => {
    const annotated = { ...web.object.metadata, annotations: { 'durable-operator.dev/paused': 'True' } };
    const control = controlOf({ ...web.object, metadata: annotated });
    const live = { ...upToDate, observation: { ...upToDate.observation, podSet: { ...web.view, control } } };
    const text = textFor({ temporal: reached(atRest), live });
    expect(text).toContain('is up to date');
    expect(text).toMatch(/^ {2}but {7}.*durable-operator\.dev\/paused.*"True"/m);
  });

  it('says what holds a resource whose namespace is being deleted, and who knows more', () => {
    const metadata = {
      ...web.beingDeleted().object.metadata,
      finalizers: ['example.com/theirs'],
    };
    const terminating = {
      name: 'shop',
      uid: 'n',
      resourceVersion: '1',
      deletionTimestamp: '2026-01-01T00:00:00Z',
    };
    const cluster = {
      is: 'there',
      object: { ...web.object, metadata },
      namespace: { metadata: terminating },
    } as const;
    const text = textFor({ cluster, temporal: reached(atRest), live: upToDate });
    expect(text).toContain('held by example.com/theirs');
    expect(text).toContain("ask whoever put the finalizers there; none of them is the operator's");
    expect(text).toMatch(/kubectl durable why namespace\/shop +see what it waits for/);
  });

  it('says where to see what holds a Namespace that is being deleted', () => {
    const [controller] = controllersOf().filter(({ name }) => name === 'namespace-role-binding');
    if (controller === undefined) throw new Error('no controller namespace-role-binding');
    const object = {
      metadata: { name: 'shop', uid: 'n', resourceVersion: '1', deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    const observation = controller.observation(controller.primary.view(object), []);
    const text = textFor({
      ...{ controller, place: { controller: controller.name, namespace: 'shop', name: 'shop' } },
      ...{ cluster: { is: 'there', object, namespace: undefined }, temporal: reached(atRest) },
      live: { observation, next: converged('the namespace is being deleted') },
    });
    expect(text).toMatch(/kubectl describe namespace shop +/);
  });

  it('tells what fails for the moment from what nobody may read', () => {
    const live = new ApiError('GET /api/v1/pods: 503 try later', {
      classification: 'unavailable',
      status: 503,
    });
    const text = textFor({ temporal: reached(atRest), live });
    expect(text).toContain('cannot be read now: try later; ask again');
    expect(text).not.toContain('you may not');
    const open = textFor({ temporal: reached({}), live });
    expect(open).toContain('  there     cannot be read now: try later; ask again\n');
  });

  it('says what it cannot see', () => {
    const live = new ApiError('GET /api/v1/pods: 403 pods is forbidden', {
      classification: 'access-denied',
      status: 403,
    });
    expect(textFor({ temporal: reached(atRest), live })).toContain(
      'you may not see all of it: pods is forbidden',
    );
  });
});

describe('why, of what is not there,', () => {
  const gone = { is: 'gone' } as const;

  it('says that there never was one', () => {
    const asking = reached({ run: undefined, timeline: undefined });
    expect(textFor({ cluster: gone, temporal: asking, live: undefined })).toContain('does not exist');
  });

  it('says that it was deleted, and what its last run did', () => {
    const timeline: RunTimeline = {
      ...TIMELINE,
      end: { atMs: ago(60), how: 'completed', words: 'created 3 Pods' },
    };
    const text = textFor({ cluster: gone, temporal: reached({ run: CLOSED, timeline }), live: undefined });
    expect(text).toContain('is gone: it was deleted\n\n  last run  ended 1m ago: created 3 Pods\n');
  });

  it('says that its kind is missing', () => {
    const error = new ApiError('GET x: 404 not found', { classification: 'api-missing', status: 404 });
    const text = textFor({ cluster: { is: 'unreadable', error }, live: undefined });
    expect(text).toContain('podsets.batch.tutorial.kubebuilder.io is not installed');
  });

  it('says that Temporal is away, and what there is to do nevertheless', () => {
    const explanation = explain({
      ...FINDINGS,
      temporal: { is: 'away', problem: 'Temporal does not answer' },
    });
    expect(explanation.exit).toBe(2);
    expect(explanationText(explanation, plain)).toContain('next      createPods: there is 1 Pod');
  });
});
