import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { CLUSTER_ROLES, PODS, refOf, ROLE_BINDINGS, TestCluster, type Manifest } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, endOperators, launchOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { testStack } from '../support/stack.ts';
import { TestTemporal } from '../support/temporal.ts';

jest.setTimeout(180_000);
/** Asking for what is denied backs off to 45 s. */
const CONVERGED_WITHIN_MS = 60_000;

const stack = testStack();
let cluster: TestCluster;
let temporal: TestTemporal;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  cluster = new TestCluster(stack.kubeconfig);
  temporal = await TestTemporal.connect(stack.temporalAddress);
  namespace = (await cluster.createNamespace()).metadata.name;
  operator = await launchOperator({
    temporalAddress: stack.temporalAddress,
    kubeconfig: join(stack.dir, 'operator.kubeconfig'),
    taskQueue: aTaskQueue(),
  });
});

afterAll(async () => {
  await endOperators();
  await cluster.disallowOperator();
  await temporal.close();
  await cluster.close();
});

const create = (name: string) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);

function eventuallyLabelled(name: string): Promise<true> {
  return eventually(async () => {
    const pod = await cluster.get({ type: PODS, namespace, name });
    expect(pod?.metadata.labels).toEqual({ [POD_NAME_LABEL]: name });
    return true as const;
  }, CONVERGED_WITHIN_MS);
}

const eventuallyBound = () =>
  eventually(
    () => cluster.get({ type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` }),
    CONVERGED_WITHIN_MS,
  );

describe('the permissions of the operator', () => {
  it('are missing at first: it is not ready, and says what it may not do', async () => {
    await create('web');
    const { status } = await eventually(async () => {
      const readiness = await operator.readiness();
      expect(readiness.body).toContain('User "operator" cannot list resource "pods"');
      return readiness;
    }, CONVERGED_WITHIN_MS);
    expect(status).toBe(503);
  });

  it('are enough where they are those of the generated role, and it goes on without a restart', async () => {
    await cluster.allowOperator();
    await eventuallyLabelled('web');
    await eventuallyBound();
    await eventually(async () => (await operator.readiness()).status === 200, CONVERGED_WITHIN_MS);
  });

  it('show in the run and in an Event when they were taken away, and the run ends when they are given back', async () => {
    const role = await cluster.operatorRole();
    await replaceRules(role, withoutPatch(rulesOf(role)));
    const pod = await create('denied');
    const ref = refOf('pod-label', pod);
    await eventually(async () => {
      const { pendingActivities } = await temporal.openRunOf(ref);
      expect(pendingActivities).toMatchObject([{ type: 'labelPod', lastFailure: 'AccessDenied' }]);
      expect(pendingActivities[0]?.message).toContain('User "operator" cannot patch resource "pods"');
      return true;
    }, CONVERGED_WITHIN_MS);
    await eventually(async () => {
      const events = await cluster.eventsIn(namespace);
      expect(events.filter(({ regarding }) => regarding.uid === ref.uid)).toMatchObject([
        { type: 'Warning', reason: 'AccessDenied', note: expect.stringContaining('cannot patch resource') },
      ]);
      return true;
    }, CONVERGED_WITHIN_MS);
    await replaceRules(role, rulesOf(role));
    await eventuallyLabelled('denied');
    await eventually(
      async () => (await temporal.runsOf(ref))[0]?.status === 'COMPLETED',
      CONVERGED_WITHIN_MS,
    );
  });
});

interface Rule {
  readonly verbs: readonly string[];
}

function rulesOf({ rules }: Manifest): readonly Rule[] {
  if (!Array.isArray(rules)) throw new Error('a role without rules');
  return rules.filter((rule): rule is Rule => typeof rule === 'object' && rule !== null && 'verbs' in rule);
}

/** Nothing is left of a rule that allows to patch alone. */
function withoutPatch(rules: readonly Rule[]): readonly Rule[] {
  return rules
    .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== 'patch') }))
    .filter(({ verbs }) => verbs.length > 0);
}

function replaceRules({ metadata: { name } }: Manifest, rules: readonly Rule[]) {
  return cluster.patch({ type: CLUSTER_ROLES, name }, { rules });
}
