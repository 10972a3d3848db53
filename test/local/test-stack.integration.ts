import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { applyCustomResources } from '../../local/custom-resources.ts';
import { outputOf } from '../../local/program-output.ts';
import { OPERATOR, userNameOf } from '../support/service-accounts.ts';
import { testStack } from '../support/stack.ts';

const OPERATOR_USER = userNameOf(OPERATOR);

const AuditLine = z.object({ requestURI: z.string(), user: z.object({ username: z.string() }) });

function auditedUris(user: string): string[] {
  const lines = readFileSync(testStack().auditLog, 'utf8').trimEnd().split('\n');
  const entries = lines.map((line) => AuditLine.parse(JSON.parse(line)));
  return entries.filter((entry) => entry.user.username === user).map((entry) => entry.requestURI);
}

function kubectlAs(user: string, ...args: string[]): ReturnType<typeof outputOf> {
  const { kubectl, dir } = testStack();
  return outputOf(kubectl, ['--kubeconfig', `${dir}/${user}.kubeconfig`, ...args]);
}

describe('the stack that integration tests share', () => {
  it('has two nodes, and logs who asked for them', async () => {
    const nodes = await kubectlAs('admin', 'get', 'nodes', '-o', 'name');
    expect(nodes).toEqual({ outcome: 'succeeded', output: 'node/simulated-1\nnode/simulated-2\n' });
    expect(auditedUris('admin')).toContain('/api/v1/nodes?limit=500');
  });

  it('knows the service account of the operator, which may do only what its roles give', async () => {
    const whoami = await kubectlAs(
      'operator',
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username}',
    );
    expect(whoami).toEqual({ outcome: 'succeeded', output: OPERATOR_USER });
    const secrets = await kubectlAs('operator', 'get', 'secrets');
    expect(secrets.output).toContain(`User "${OPERATOR_USER}" cannot list resource "secrets"`);
  });

  it('has our custom resources, ready for use', async () => {
    const established = await kubectlAs(
      'admin',
      'get',
      'crd',
      'podsets.batch.tutorial.kubebuilder.io',
      'xxxes.test.inspur.com',
      '--output=jsonpath={.items[*].status.conditions[?(@.type=="Established")].status}',
    );
    expect(established).toEqual({ outcome: 'succeeded', output: 'True True' });
  });

  it('lets the operator use them, which may not apply them', async () => {
    const client = createKubernetesClient(
      loadKubeConfig({ kubeconfig: testStack().operatorKubeconfig, env: {} }),
      { version: 'test' },
    );
    try {
      expect(await applyCustomResources(client)).toBe('there already');
    } finally {
      await client.close();
    }
  });
});
