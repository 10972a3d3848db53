import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { CLUSTER_ROLES, PODS, refOf, ROLE_BINDINGS, SERVICE_ACCOUNTS } from '../support/cluster.ts';
import { installed } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { launchOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { grant, revoke } from '../support/service-accounts.ts';
import { userNameOf, type ServiceAccount } from '../../testing/stack/service-account.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(180_000);
/** Asking for what is denied backs off to 45 s. */
const CONVERGED_WITHIN_MS = 60_000;

const { cluster, temporal, kubeconfigOf } = setUpStage(async () => {
  await revoke(cluster, namespace);
});
let operator: Operator;
let namespace: string;
/** Another than the operator's, which loses nothing in any test. */
let account: ServiceAccount;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  account = { namespace, name: 'controller-manager' };
  await cluster.create(SERVICE_ACCOUNTS, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...account },
  });
  operator = await launchOperator({ kubeconfig: await kubeconfigOf(account) });
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
  it('are missing at first: it is not ready, and names what it may not do', async () => {
    await create('web');
    const { status } = await eventually(async () => {
      const readiness = await operator.readiness();
      expect(readiness.body).toContain(`User "${userNameOf(account)}" cannot list resource "pods"`);
      return readiness;
    }, CONVERGED_WITHIN_MS);
    expect(status).toBe(503);
  });

  it('are those of the installed role: it needs no more, and no restart', async () => {
    await allowAll();
    await eventuallyLabelled('web');
    await eventuallyBound();
    await eventually(async () => (await operator.readiness()).status === 200, CONVERGED_WITHIN_MS);
  });

  it('are named in the run and in an Event after they were removed; the run ends after they are back', async () => {
    const rules = await installedRules();
    await replaceRules(withoutPatch(rules));
    const pod = await create('denied');
    const ref = refOf('pod-label', pod);
    await eventually(async () => {
      const { pendingActivities } = await temporal.openRunOf(ref);
      expect(pendingActivities).toMatchObject([{ type: 'addLabel', lastFailure: 'AccessDenied' }]);
      expect(pendingActivities[0]?.message).toContain(
        `User "${userNameOf(account)}" cannot patch resource "pods"`,
      );
      return true;
    }, CONVERGED_WITHIN_MS);
    await eventually(async () => {
      const events = await cluster.eventsIn(namespace);
      expect(events.filter(({ regarding }) => regarding.uid === ref.uid)).toMatchObject([
        { type: 'Warning', reason: 'AccessDenied', note: expect.stringContaining('cannot patch resource') },
      ]);
      return true;
    }, CONVERGED_WITHIN_MS);
    await replaceRules(rules);
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

async function installedRules(): Promise<readonly Rule[]> {
  const objects = await installed();
  const rules = objects.find(({ metadata }) => metadata.name === 'durable-operator-manager-role')?.['rules'];
  if (!Array.isArray(rules)) throw new Error('the chart has no manager-role with rules');
  return rules.filter((rule): rule is Rule => typeof rule === 'object' && rule !== null && 'verbs' in rule);
}

/** Under a name of its own: what the role that is installed gives. */
async function allowAll(): Promise<void> {
  await grant(cluster, { name: namespace, rules: await installedRules(), accounts: [account] });
}

/** Nothing is left of a rule that allows to patch alone. */
function withoutPatch(rules: readonly Rule[]): readonly Rule[] {
  return rules
    .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== 'patch') }))
    .filter(({ verbs }) => verbs.length > 0);
}

function replaceRules(rules: readonly Rule[]) {
  return cluster.patch({ type: CLUSTER_ROLES, name: namespace }, { rules });
}
