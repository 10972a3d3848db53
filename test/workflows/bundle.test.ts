import { describe, expect, it, jest } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
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

describe('workflows/index.ts', () => {
  it('exports the workflow of every controller, each from a file of its own', async () => {
    const index = await readFile(new URL('../../workflows/index.ts', import.meta.url), 'utf8');
    const exported = [...index.matchAll(/export \{ (\w+) \} from '\.\/([\w-]+)\.ts'/g)];
    const workflows = controllersFor(OPTIONS).map(({ name, workflowType }) => [workflowType, name]);
    expect(exported.map(([, name, file]) => [name, file]).sort()).toEqual(workflows.sort());
    const files = await readdir(new URL('../../workflows/', import.meta.url));
    for (const [, name] of workflows) expect(files).toContain(`${name}.ts`);
  });
});
