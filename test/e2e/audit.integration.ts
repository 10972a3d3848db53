import { describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { NAMESPACES, PODS, refOf, ROLE_BINDINGS } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aPod } from '../support/pods.ts';
import { setUpOperator } from '../support/stage.ts';
import { stepsIn, type RecordedStep } from '../support/steps.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const { stack, cluster, temporal } = setUpOperator({});

/** The writes that the API server accepted, as `create pods`; a name counts for how many objects it stands. */
function writesIn(namespace: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { verb, resource, subresource } of operatorWritesIn(namespace, stack.auditLog)) {
    const name = `${verb} ${[resource, subresource].filter(Boolean).join('/')}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function stepsOf(controller: string, object: KubernetesObject): Promise<readonly RecordedStep[]> {
  const ref = refOf(controller, object);
  const runs = await eventually(async () => {
    const all = await temporal.runsOf(ref);
    return all.length > 0 && all.every(({ status }) => status === 'COMPLETED') && all;
  }, WITHIN_MS);
  const histories = await Promise.all(runs.map(({ runId }) => temporal.historyOf(ref, runId)));
  return histories.flatMap(stepsIn);
}

/** How often steps say that they did this. Where a step was interrupted, the next one says it. */
function told(steps: readonly RecordedStep[], ...verbs: readonly string[]): number {
  const actions = steps.flatMap(({ did }) => did).filter(({ did }) => verbs.includes(did));
  return actions.reduce((sum, { count }) => sum + count, 0);
}

describe('every write of the operator is a named step in a history, and every step in a history was written', () => {
  it('of a PodSet that is created, scaled up, scaled down and emptied', async () => {
    const namespace = await cluster.aNamespace();
    const at = { type: PodSetKind, namespace, name: 'web' };
    const podSet = await cluster.create<PodSet>(PodSetKind, aPodSet().in(namespace).wanting(2).manifest);
    for (const replicas of [2, 30, 3, 0]) {
      await cluster.patch(at, { spec: { replicas } });
      await eventually(async () => {
        const { status, metadata } = (await cluster.get<PodSet>(at)) ?? podSet;
        return status?.readyReplicas === replicas && status.observedGeneration === metadata.generation;
      }, WITHIN_MS);
      // A signal during the last local step of a run has that step done again, which then finds nothing left to do.
      await stepsOf('pod-set', podSet);
    }
    const writes = await eventually(async () => {
      const steps = await stepsOf('pod-set', podSet);
      const made = writesIn(namespace);
      expect(told(steps, 'created')).toBe(made.get('create pods'));
      expect(told(steps, 'deleted')).toBe(made.get('delete pods'));
      expect(told(steps, 'updated')).toBe(made.get('patch podsets/status'));
      return made;
    }, WITHIN_MS);
    expect([...writes.keys()].sort()).toEqual([
      'create pods',
      'create rolebindings',
      'delete pods',
      'patch podsets/status',
    ]);
  });

  it('of a build from its creation to its deletion', async () => {
    const namespace = await cluster.aNamespace();
    const { manifest } = aBuild(namespace);
    const created = await cluster.create(BUILDS, manifest);
    const build = new LiveBuild(cluster, manifest, WITHIN_MS);
    await build.is('Succeeded');
    await stepsOf('git-build', created);
    await build.delete();
    await build.gone();
    const steps = await stepsOf('git-build', created);
    const writes = writesIn(namespace);
    expect(told(steps, 'created')).toBe(writes.get('create jobs'));
    expect(told(steps, 'deleted')).toBe(writes.get('delete jobs') ?? 0);
    expect(told(steps, 'added', 'removed')).toBe(writes.get('patch xxxes'));
    expect(told(steps, 'updated')).toBe(writes.get('patch xxxes/status'));
    const names = steps.map(({ name }) => name).filter((name) => name !== 'observe');
    expect(names.filter((name) => name !== 'updateStatus')).toEqual([
      'addFinalizer',
      'createJob',
      'createCleanupJob',
      'removeFinalizer',
    ]);
  });

  it('of a Pod that is annotated and no longer annotated', async () => {
    const namespace = await cluster.aNamespace();
    const pod = await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    const at = { type: PODS, namespace, name: 'web' };
    const label = async () => (await cluster.get(at))?.metadata.labels?.[POD_NAME_LABEL];
    await eventually(async () => (await label()) === 'web', WITHIN_MS);
    await stepsOf('pod-label', pod);
    await cluster.patch(at, { metadata: { annotations: { [POD_NAME_ANNOTATION]: null } } });
    await eventually(async () => (await label()) === undefined, WITHIN_MS);
    const steps = await stepsOf('pod-label', pod);
    expect(steps.map(({ name, next }) => [name, next])).toEqual([
      ['addLabel', 'converged'],
      ['removeLabel', 'converged'],
    ]);
    expect(writesIn(namespace).get('patch pods')).toBe(2);
  });

  it('of a namespace whose role binding is deleted, edited and given another role', async () => {
    const { metadata } = await cluster.createNamespace();
    const { name: namespace } = metadata;
    const name = `ad-kubernetes-${namespace}`;
    const at = { type: ROLE_BINDINGS, namespace, name };
    const first = await eventually(() => cluster.get(at), WITHIN_MS);
    const team = (await cluster.get({ type: NAMESPACES, name: namespace })) ?? first;
    await stepsOf('namespace-role-binding', team);
    await cluster.delete(at);
    await eventually(async () => {
      const again = await cluster.get(at);
      return again !== undefined && again.metadata.uid !== first.metadata.uid;
    }, WITHIN_MS);
    await stepsOf('namespace-role-binding', team);
    const other = { kind: 'Group', name: 'others', apiGroup: 'rbac.authorization.k8s.io' };
    await cluster.patch(at, { subjects: [other] });
    await eventually(async () => {
      const subjects = (await cluster.get(at))?.['subjects'];
      return JSON.stringify(subjects).includes(name);
    }, WITHIN_MS);
    const steps = await stepsOf('namespace-role-binding', team);
    const writes = writesIn(namespace);
    expect(told(steps, 'created')).toBe(writes.get('create rolebindings'));
    expect(told(steps, 'restored')).toBe(writes.get('patch rolebindings'));
  });
});
