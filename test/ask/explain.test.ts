import { describe, expect, it } from '@jest/globals';
import { explain } from '../../src/ask/why/explain.ts';
import { explanationText } from '../../src/ask/why/explanation.ts';
import type { RunTimeline, StepEntry } from '../../src/temporal/timeline.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { configuredControllers } from '../../src/ask/controllers.ts';
import { converged, stalled } from '../../src/runs/decision.ts';
import { durableOperator } from '../../src/controllers/index.ts';
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
import { aCause } from '../support/causes.ts';
import { aPodOf, observationOf } from '../support/pod-sets.ts';

describe('why, of an open run,', () => {
  it('that is retrying, says when it tries next, and what it was last told of', () => {
    const run = { run: 'kubectl describe quota -n shop', to: 'show the quota' };
    const cause = { reason: 'QuotaExceeded', message: 'exceeded quota: few', advice: [run] };
    const failure = { type: 'Refused', message: 'exceeded quota: few', cause };
    const pending = [{ step: 'createPods', attempt: 6, failure, nextTryAtMs: ago(-21) }];
    const told = { signal: 'changed', reason: 'the spec changed', by: '' };
    const entries = [{ kind: 'signal', atMs: ago(30), ...told }] as const;
    const timeline = { ...TIMELINE, entries };
    const text = textFor({ temporal: reached({ run: { ...RUN, pending }, timeline }) });
    expect(text).toMatch(
      /^PodSet shop\/web is retrying: QuotaExceeded \(1 of 3 Pods\), for 4m12s\n\n {2}because {3}exceeded quota: few\n/,
    );
    expect(text).toContain('  step      createPods, attempt 6, next in 21s\n');
    expect(text).toContain('  you can   kubectl describe quota -n shop ');
    expect(text).toContain('  signal    30s ago: the spec changed\n');
  });

  it('that tries a refused step again itself, says what refused it, and when that is', () => {
    const cause = { reason: 'Refused', message: 'the name is taken', advice: ['choose another name'] };
    const failed: StepEntry = {
      ...{ kind: 'step', atMs: ago(12), step: 'provision', summary: undefined, isLocal: false, attempts: 1 },
      ...{ failure: { type: 'Refused', message: cause.message, cause }, end: { how: 'failed', tookMs: 40 } },
    };
    const wait = {
      kind: 'wait',
      atMs: ago(10),
      summary: 'backoff: the next attempt of provision',
      timeoutMs: 40_000,
      end: { how: 'in progress' },
    } as const;
    const run = { ...RUN, runState: 'Retrying' as const };
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries: [failed, wait] } }) });
    expect(text).toContain('PodSet shop/web is retrying: Refused (1 of 3 Pods), for 4m12s\n');
    expect(text).toContain('  because   the name is taken\n');
    expect(text).toContain('  step      provision, next in 30s\n');
    expect(text).toContain('  you can   choose another name\n');
    expect(text).toContain('durable retry');
  });

  it('that waits, says for what, and when it looks again', () => {
    const wait = {
      kind: 'wait',
      atMs: ago(10),
      summary: 'recheck: waiting for …',
      timeoutMs: 40_000,
      end: { how: 'in progress' },
    } as const;
    const rest = done({ do: 'wait', because: '', for: 'the pause after failed Pods to end' });
    const text = textFor({ temporal: reached({ timeline: { ...TIMELINE, entries: [rest, wait] } }) });
    expect(text).toContain('PodSet shop/web is waiting (1 of 3 Pods), for 4m12s\n');
    expect(text).toContain('  for       the pause after failed Pods to end\n');
    expect(text).toContain('  next      checks when something changes, or in 30s\n');
  });

  it('that waits although something is wrong, says so in its headline', () => {
    const rest = done({ do: 'wait', because: '', for: 'Job shop/build to end', cause: aCause('no image') });
    const text = textFor({ temporal: reached({ timeline: { ...TIMELINE, entries: [rest] } }) });
    expect(text).toMatch(
      /^PodSet shop\/web cannot continue yet: Broken .*\n\n {2}because {3}no image\n {2}for {7}Job/,
    );
  });

  it('that is stalled, says that waiting does not help, and what does', () => {
    const cause = {
      reason: 'InvalidSpec',
      message: 'spec.replicas must be at least 0',
      advice: ['correct it'],
    };
    const rest = done({ do: 'stalled', because: cause.message, cause });
    const run = { ...RUN, runState: 'Stalled' as const };
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries: [rest] } }) });
    expect(text).toContain('is stalled: InvalidSpec (1 of 3 Pods)');
    expect(text).toContain('  because   spec.replicas must be at least 0\n');
    expect(text).toContain('  next      nothing until a person acts; checks when something changes\n');
    expect(text).toContain('  you can   correct it\n');
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
      observation: observationOf(web, [], {}),
      next: stalled(aCause('decided just now')),
    } as const;
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries: [rest] } }), live });
    expect(text).toContain('  because   decided just now\n');
  });

  it('whose workflow task fails, says why, and what brings it on', () => {
    const message = 'a payload is encrypted with key "old"; add it to the payload keys';
    const timeline = { ...TIMELINE, taskFailure: { type: undefined, message } };
    const text = textFor({ temporal: reached({ run: { ...RUN, workflowTaskAttempt: 12 }, timeline }) });
    expect(text).toContain('PodSet shop/web is retrying (1 of 3 Pods)');
    expect(text).toContain('  step      workflow task, attempt 12');
    expect(text).toContain(`  because   ${message}\n`);
    expect(text).toContain('temporal workflow terminate --workflow-id pod-set/shop/web/u');
    expect(text).not.toContain('durable retry');
  });

  it('that goes on after a wait, does not call the wait a step', () => {
    const entries = [done({ do: 'wait', because: '', for: 'Job shop/build to end' })];
    const run = { ...RUN, workflowTaskAttempt: 1 };
    const text = textFor({ temporal: reached({ run, timeline: { ...TIMELINE, entries } }) });
    expect(text).toContain('is being reconciled (1 of 3 Pods)');
    expect(text).not.toContain('  step ');
  });
});

describe('why, without an open run,', () => {
  const timeline: RunTimeline = {
    ...TIMELINE,
    end: { atMs: ago(60), how: 'completed', words: 'created 3 Pods' },
  };
  const atRest = { run: CLOSED, timeline };
  const upToDate = {
    observation: observationOf(web, [aPodOf(web)], {}),
    next: converged('all desired Pods exist and are Ready'),
  };

  const withStatus = (...conditions: readonly object[]) => {
    const object = { ...web.object, status: { observedGeneration: 2, conditions } };
    return { is: 'there', object, namespace: undefined } as const;
  };
  const lastTransitionTime = new Date(ago(90)).toISOString();
  const unready = { type: 'Ready', status: 'False', reason: 'Starting', message: '1 Pod is starting' };

  it('says what is wrong with a resource that is not ready although nothing is left to do', () => {
    const advice = [{ run: 'kubectl describe pod web-a -n shop', to: 'show why' }];
    const cause = { reason: 'ImagePullBackOff', message: 'Pod web-a cannot pull its image', advice };
    const cluster = withStatus({ ...unready, lastTransitionTime });
    const live = { ...upToDate, next: converged('nothing to do', { notReady: cause }) };
    const explanation = explain({ ...FINDINGS, cluster, temporal: reached(atRest), live });
    expect(explanation).toMatchObject({ state: 'NotReady', reason: 'ImagePullBackOff', exit: 1 });
    const text = explanationText(explanation, plain);
    expect(text).toContain(
      'is not ready: ImagePullBackOff (1 of 3 Pods), for 1m30s\n\n  because   Pod web-a',
    );
    expect(text).toContain('  you can   kubectl describe pod web-a -n shop ');
  });

  it('names five Pods that are not well, the worst first, with the reason', () => {
    const pods = ['a', 'b', 'c', 'd', 'e'].map((name) => aPodOf(web, name).unreadyFor(20));
    const failing = aPodOf(web, 'z').withContainer({ state: { waiting: { reason: 'ErrImagePull' } } });
    const observation = observationOf(web, [...pods, failing], {});
    const explanation = explain({
      ...FINDINGS,
      temporal: reached(atRest),
      live: { ...upToDate, observation },
    });
    const notWell = explanation.facts.filter(({ label }) => label === 'not well').map(({ text }) => text);
    expect(notWell).toEqual([
      'Pod z cannot pull the image busybox',
      ...['a', 'b', 'c', 'd'].map((name) => `Pod ${name} is not Ready`),
    ]);
  });

  it('says that a resource is not ready yet while its status says that it goes on', () => {
    const cluster = withStatus(unready, { type: 'Reconciling', status: 'True', message: '' });
    const explanation = explain({ ...FINDINGS, cluster, temporal: reached(atRest), live: upToDate });
    expect(explanation).toMatchObject({ state: 'Reconciling', exit: 1 });
    expect(explanation.headline).toBe('is not ready yet (1 of 3 Pods)');
    expect(explanationText(explanation, plain)).toContain('  because   1 Pod is starting\n');
  });

  it('says that the operator is not known', () => {
    const text = textFor({ temporal: reached({ ...atRest, settings: undefined, otherTaskQueues: ['b'] }) });
    expect(text).toContain('no operator has task queue "durable-operator"; there are operators with "b"');
    expect(text).toContain('kubectl durable why podset/web -n shop --task-queue b');
  });

  it('names the Lease and the Pods of the program that is asked about', () => {
    const text = textFor({ temporal: reached({ ...atRest, program: 'shop-operator' }) });
    expect(text).toContain('kubectl get leases -A --field-selector metadata.name=shop-operator');
    expect(text).toContain('kubectl logs -n shop-operator-system -l app.kubernetes.io/name=shop-operator');
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

  it('says what the operator leaves out', () => {
    const options = defaultOptions(durableOperator);
    const reconciliation = { ...options.reconciliation, namespaces: ['other'] };
    const settings = { version: '1.0', options: { ...options, reconciliation } };
    const explanation = explain({ ...FINDINGS, temporal: reached({ ...atRest, settings }) });
    expect(explanation).toMatchObject({ state: 'Ignored', exit: 0 });
    expect(explanationText(explanation, plain)).toContain('watches only the namespaces other');
  });

  const terminating = {
    name: 'shop',
    uid: 'n',
    resourceVersion: '1',
    deletionTimestamp: '2026-01-01T00:00:00Z',
  };
  const namespace = { metadata: terminating };

  it('says whose finalizers hold a resource that the operator is done with', () => {
    const object = web.beingDeleted().object;
    const metadata = { ...object.metadata, finalizers: ['example.com/theirs'] };
    const cluster = { is: 'there', object: { ...object, metadata }, namespace: undefined } as const;
    const text = textFor({ cluster, temporal: reached(atRest), live: upToDate });
    expect(text).toContain('is being deleted, and the operator has nothing left to do');
    expect(text).toContain('held by example.com/theirs');
  });

  it('says that another annotation cannot be followed, and exits as get does', () => {
    const metadata = { ...web.object.metadata, annotations: { 'durable-operator.dev/approval': 'yes' } };
    const cluster = { is: 'there', object: { ...web.object, metadata }, namespace: undefined } as const;
    const explanation = explain({ ...FINDINGS, cluster, temporal: reached(atRest), live: upToDate });
    expect(explanation).toMatchObject({
      ...{ state: 'UpToDate', reason: 'InvalidAnnotation', exit: 1 },
      headline: 'has an annotation that cannot be followed',
    });
  });

  it('says as what an interval counts that is too short', () => {
    const podSet = web.annotated({ 'durable-operator.dev/poll-interval': '10s' });
    const live = { ...upToDate, observation: observationOf(podSet, [aPodOf(web)], {}) };
    expect(textFor({ temporal: reached(atRest), live })).toContain(
      '  warning   annotation durable-operator.dev/poll-interval is "10s", and counts as 1m, the shortest that --min-poll-interval allows\n',
    );
  });

  it('says where to see what holds a Namespace that is being deleted', () => {
    const [controller] = configuredControllers(durableOperator).filter(
      ({ name }) => name === 'namespace-role-binding',
    );
    if (controller === undefined) throw new Error('no controller namespace-role-binding');
    const observation = controller.observation(controller.primary.view(namespace), [], namespace.metadata);
    const text = textFor({
      ...{ controller, place: { controller: controller.name, namespace: 'shop', name: 'shop' } },
      ...{ cluster: { is: 'there', object: namespace, namespace: undefined }, temporal: reached(atRest) },
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
    expect(text).toContain('cannot be read now: GET /api/v1/pods: 503 try later; ask again');
    expect(text).not.toContain('you may not');
  });

  it('says what it cannot see', () => {
    const refused = { classification: 'access-denied', status: 403 } as const;
    const live = new ApiError('GET /api/v1/pods: 403 pods is forbidden', refused);
    expect(textFor({ temporal: reached(atRest), live })).toContain(
      'you may not read all of it: GET /api/v1/pods: 403 pods is forbidden',
    );
  });
});

describe('why, of what is not there,', () => {
  it('says that there never was one', () => {
    const temporal = reached({ run: undefined, timeline: undefined });
    expect(textFor({ cluster: { is: 'gone' }, temporal, live: undefined })).toContain('does not exist');
  });
});
