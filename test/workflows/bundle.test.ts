import { describe, expect, it, jest } from '@jest/globals';
import { makeWorkflowBundle, type FailureText } from '../../src/temporal/bundle.ts';
import { controllersFor } from '../../src/controllers/index.ts';

jest.setTimeout(60_000);

const OPTIONS = {
  roleBinding: { clusterRole: 'edit', prefix: 'p-', namespaceSelector: [], excludeNamespaces: [] },
  build: { image: 'golang:1.13', hostDir: '/opt', deadlineMs: 3_600_000, gitTransports: [] },
  reconciliation: {},
};

describe('the workflow bundle', () => {
  it('holds the workflows of all controllers, and neither activities nor the Kubernetes client', async () => {
    const { code } = await makeWorkflowBundle();
    for (const { workflowType } of controllersFor(OPTIONS))
      expect(code).toContain(`function ${workflowType}(`);
    expect(code).not.toContain('undici');
    expect(code).not.toContain('src/kubernetes');
    expect(code).not.toContain('./activities/');
  });

  it('puts the text of failures into payloads only where those are encrypted', async () => {
    const encodes = async (failures: FailureText) =>
      (await makeWorkflowBundle(failures)).code.includes('encodeCommonAttributes: true');
    expect(await encodes('readable')).toBe(false);
    expect(await encodes('in-payload')).toBe(true);
  });
});
