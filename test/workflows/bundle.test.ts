import { describe, expect, it, jest } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import { lean, makeWorkflowBundle, type FailureText } from '../../src/temporal/bundle.ts';

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

  it('of the build means the same, has a byte for each character, and no sources in its map', () => {
    const before = { version: 3, mappings: 'AAAA', sourcesContent: ['…'] };
    const map = (json: object) =>
      `//# sourceMappingURL=data:application/json;charset=utf-8;base64,${Buffer.from(JSON.stringify(json)).toString('base64')}`;
    const [code = '', rest] = lean(`'a…😀é'\n${map(before)}`).split(/(?=\/\/#)/);
    expect(runInNewContext(code)).toBe('a…😀é');
    expect(code).toMatch(/^[\0-\xff]*$/);
    expect(rest).toBe(map({ version: 3, mappings: 'AAAA' }));
  });
});
