import { describe, expect, it } from '@jest/globals';
import { fetchResources, resourcesIn, type ResourceScope } from '../../src/ask/get/resources.ts';
import { rowData, rowsOf, type RowsRequest } from '../../src/ask/get/rows.ts';
import { isWell } from '../../src/ask/state.ts';
import type { Run } from '../../src/temporal/run-reader.ts';
import { configuredControllers } from '../../src/ask/controllers.ts';
import { defaultOptions } from '../../src/config/config.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const NOW_MS = Date.parse('2026-01-01T12:00:00Z');
const controllers = configuredControllers(durableOperator);
const controllerOf = (name: string) => {
  const found = controllers.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no controller ${name}`);
  return found;
};

function pod(name: string, metadata: Partial<KubernetesObject['metadata']> = {}): KubernetesObject {
  return { metadata: { namespace: 'shop', name, uid: `uid-of-${name}`, resourceVersion: '1', ...metadata } };
}

function namespace(metadata: Partial<KubernetesObject['metadata']>): KubernetesObject {
  return { metadata: { name: 'shop', uid: 'n', resourceVersion: '1', ...metadata } };
}

const annotated = (name: string, value = 'true') =>
  pod(name, { annotations: { [POD_NAME_ANNOTATION]: value }, labels: {} });

function runOf(name: string, changes: Partial<Run> = {}): Run {
  const ref = { controller: 'pod-label', namespace: 'shop', name, uid: `uid-of-${name}` };
  return {
    ...{ ref, workflowId: `pod-label/shop/${name}/uid-of-${name}`, runId: 'r', isOpen: true },
    ...{ startedAtMs: NOW_MS - 60_000, endedAtMs: undefined, runState: undefined, status: 'RUNNING' },
    ...{ taskQueue: 'q', pending: [], workflowTaskAttempt: undefined, version: undefined, historyLength: 3 },
    ...changes,
  };
}

interface Given extends Partial<RowsRequest> {
  readonly namespaces?: readonly KubernetesObject[];
}

function rowsWith(objects: readonly KubernetesObject[], { namespaces = [], ...changes }: Given = {}) {
  const resources = resourcesIn(
    { controller: 'pod-label', objects, children: [] },
    controllerOf('pod-label'),
    { namespaces: new Map(namespaces.map((each) => [each.metadata.name, each])), nowMs: NOW_MS },
  );
  const { reconciliation } = defaultOptions(durableOperator);
  return rowsOf({ resources, runs: [], controllers, reconciliation, nowMs: NOW_MS, ...changes });
}

describe('a list of resources', () => {
  it('has no Pod that neither asks for the label nor has it', () => {
    const labelled = pod('labelled', { labels: { [POD_NAME_LABEL]: 'other' } });
    const rows = rowsWith([pod('plain'), annotated('asking'), labelled]);
    expect(rows.map(({ resource }) => resource)).toEqual(['pod/asking', 'pod/labelled']);
  });

  it('says of each how it does, by the controller’s own decision where no run is open', () => {
    const done = pod('done', {
      annotations: { [POD_NAME_ANNOTATION]: 'true' },
      labels: { [POD_NAME_LABEL]: 'done' },
    });
    const rows = rowsWith([done, annotated('new'), annotated('cased', 'True')]);
    expect(rows).toMatchObject([
      { resource: 'pod/done', state: 'UpToDate', message: '' },
      { resource: 'pod/new', state: 'Waiting', message: 'no run is open for it yet' },
      { resource: 'pod/cased', state: 'Ignored', message: expect.stringContaining('"True"') },
    ]);
  });

  it('says which of them a pause of their Namespace holds back', () => {
    const done = annotated('done');
    const upToDate = pod('done', { ...done.metadata, labels: { [POD_NAME_LABEL]: 'done' } });
    const rows = rowsWith([upToDate, annotated('new')], {
      namespaces: [namespace({ annotations: { 'durable-operator.dev/paused': 'true' } })],
    });
    expect(rows).toMatchObject([
      { resource: 'pod/done', state: 'UpToDate' },
      {
        ...{ resource: 'pod/new', state: 'Paused' },
        message: 'paused by the annotation durable-operator.dev/paused of its Namespace',
      },
    ]);
  });

  it('has the step of an open run, its attempt, when it tries next, and the server’s words', () => {
    const failure = { type: 'Refused', message: 'PATCH /api/v1/pods: 403 denied\nby policy' };
    const pending = [{ step: 'addLabel', attempt: 4, failure, nextTryAtMs: NOW_MS + 21_000 }];
    const rows = rowsWith([annotated('web')], {
      runs: [{ run: runOf('web', { pending }), because: failure.message }],
    });
    expect(rows.map(rowData)).toEqual([
      {
        ...{ namespace: 'shop', resource: 'pod/web', controller: 'pod-label', state: 'Retrying' },
        ...{ step: 'addLabel', attempt: 4, message: 'PATCH /api/v1/pods: 403 denied by policy' },
        ...{ nextTry: '2026-01-01T12:00:21.000Z', since: '2026-01-01T11:59:00.000Z' },
        workflowId: 'pod-label/shop/web/uid-of-web',
      },
    ]);
  });

  it('says what is wrong with a resource for which nothing is left to do', () => {
    const labels = { [POD_NAME_LABEL]: 'web' };
    const annotations = { [POD_NAME_ANNOTATION]: 'true', 'durable-operator.dev/approval': 'yes' };
    const odd = pod('web', { annotations, labels });
    const going = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/theirs'] };
    const held = pod('web', { annotations: { [POD_NAME_ANNOTATION]: 'true' }, labels, ...going });
    const leaving = pod('web', { ...held.metadata, finalizers: [] });
    const rows = rowsWith([odd, held, leaving]);
    expect(rows).toMatchObject([
      {
        state: 'UpToDate',
        cause: { reason: 'InvalidAnnotation' },
        message: expect.stringContaining('"yes"'),
      },
      { state: 'Waiting', cause: { reason: 'ForeignFinalizers' }, message: 'held by example.com/theirs' },
      { state: 'Waiting', cause: undefined, message: 'it is being deleted' },
    ]);
    expect(rows.map(isWell)).toEqual([false, false, false]);
  });

  it('says that nothing more is done for a PodSet whose namespace is being deleted', () => {
    const { object } = aPodSet().in('shop').wanting(3);
    const terminating = namespace({ deletionTimestamp: '2026-01-01T00:00:00Z' });
    const around = { namespaces: new Map([['shop', terminating]]), nowMs: NOW_MS };
    const list = { controller: 'pod-set', objects: [object], children: [] };
    const [row] = resourcesIn(list, controllerOf('pod-set'), around);
    expect(row?.atRest).toMatchObject({ state: 'Ignored', cause: { reason: 'NamespaceTerminating' } });
  });

  it('has a run whose resource is gone', () => {
    const rows = rowsWith([], { runs: [{ run: runOf('late'), because: '' }] });
    expect(rows).toMatchObject([{ resource: 'pod/late', state: 'Waiting', message: 'the resource is gone' }]);
  });

  it('shows an object of the same name, but another UID, apart from the run of the one before', () => {
    const rows = rowsWith([{ metadata: { ...annotated('web').metadata, uid: 'new' } }], {
      runs: [{ run: runOf('web'), because: '' }],
    });
    expect(rows.map(({ key }) => key)).toEqual(['pod-label new', 'pod-label uid-of-web']);
  });

  it.each([
    [
      { controllers: ['pod-set' as const], namespaces: [] },
      'the operator runs without the controller pod-label; it runs pod-set (--controllers)',
    ],
    [
      { controllers: ['pod-label' as const], namespaces: ['other'] },
      'the operator watches only the namespaces other (--namespaces), and not shop',
    ],
  ])('says what the operator leaves out (%#)', (reconciliation, message) => {
    const rows = rowsWith([annotated('web')], { reconciliation });
    expect(rows).toMatchObject([{ state: 'Ignored', message }]);
  });
});

describe('the lists of a controller', () => {
  async function pathsFor(name: string, scope: ResourceScope) {
    const paths: string[] = [];
    const client = {
      request: ({ path, query = {} }: RequestOptions) => {
        paths.push(`${path} ${String(query['fieldSelector'] ?? '')}`.trim());
        return Promise.resolve({ metadata: {}, items: [] });
      },
    };
    // All that it takes of a client.
    await fetchResources(client as unknown as KubernetesClient, controllerOf(name), scope);
    return paths;
  }

  it.each([
    { scope: { namespace: 'shop', name: 'team-1' }, of: 'a Namespace that is named' },
    { scope: { namespace: 'team-1', name: undefined }, of: 'the Namespace that is asked about' },
  ])('have what is in $of', async ({ scope }) => {
    expect(await pathsFor('namespace-role-binding', scope)).toEqual([
      expect.stringMatching(/^\/api\/v1\/namespaces .*metadata\.name=team-1$/),
      expect.stringMatching(/^\/apis\/rbac\.authorization\.k8s\.io\/v1\/namespaces\/team-1\/rolebindings/),
    ]);
  });
});
