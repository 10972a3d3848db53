import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { RunInput } from '../src/contract/run.ts';
import type { RoleBindingActivities } from '../src/controllers/namespace-role-binding/activities.ts';
import type { SeenNamespace } from '../src/controllers/namespace-role-binding/decide.ts';
import { converge, DURABLE, QUICK } from './converge.ts';

const quick = proxyLocalActivities<RoleBindingActivities>(QUICK);
const durable = proxyActivities<RoleBindingActivities>(DURABLE);

/** Gives one namespace the RoleBinding of its team. */
export async function namespaceRoleBinding(run: RunInput<SeenNamespace>): Promise<string> {
  const { ref } = run;
  const summary = `bind the team of namespace ${ref.name}`;
  return converge(run, {
    quick: (seen) => quick.bindNamespace.executeWithOptions({ ...QUICK, summary }, [{ ref, seen }]),
    durable: () => durable.bindNamespace.executeWithOptions({ ...DURABLE, summary }, [{ ref }]),
  });
}
