import { describe, expect, it, jest } from '@jest/globals';
import { makeWorkflowBundle, type FailureText } from '../../src/temporal/bundle.ts';

jest.setTimeout(60_000);

describe('the workflow bundle', () => {
  it('holds the one workflow, and neither activities nor the Kubernetes client', async () => {
    const { code } = await makeWorkflowBundle();
    expect(code).toContain('function reconcile(');
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
