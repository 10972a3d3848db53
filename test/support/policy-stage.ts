import { expect } from '@jest/globals';
import { TestCluster } from './cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { setUpStage, type Stage } from './stage.ts';

const WITHIN_MS = 60_000;
const POLICIES = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
};

/** What the tests of one admission policy of deploy/base work with. */
export interface PolicyStage extends Stage {
  /** How the API server begins when the policy denies something. */
  readonly policy: string;
  /** Has the operator's token, and so exactly its permissions. */
  readonly thief: TestCluster;
  /** Resolves once the policy denies what this tries: it takes the API server a moment to see a policy. */
  readonly inForce: (attempt: () => Promise<unknown>) => Promise<void>;
  /** By the API server's own check of its expressions. */
  readonly expectSoundExpressions: () => Promise<void>;
}

/**
 * @param name of the policy
 * @param cleanUp while the cluster can still be asked
 */
export function setUpPolicy(name: string, cleanUp?: () => Promise<void>): PolicyStage {
  const stage = setUpStage(async () => {
    await cleanUp?.();
    await thief.close();
  });
  const { stack, cluster } = stage;
  const thief = new TestCluster(stack.operatorKubeconfig);
  const policy = `ValidatingAdmissionPolicy '${name}'`;
  return {
    ...stage,
    policy,
    thief,
    async inForce(attempt) {
      await eventually(async () => {
        await expect(attempt()).rejects.toThrow(policy);
        return true;
      }, WITHIN_MS);
    },
    async expectSoundExpressions() {
      const status = await eventually(async () => {
        const found = await cluster.get({ type: POLICIES, name });
        const seen = found?.['status'];
        expect(seen).toMatchObject({ observedGeneration: found?.metadata.generation });
        return seen;
      }, WITHIN_MS);
      expect(JSON.stringify(status)).not.toContain('expressionWarnings');
    },
  };
}
