import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);

/** Prints how many files of client-node are loaded with a module, those of API models apart. */
const COUNTING = `
  import { registerHooks } from 'node:module';
  const loaded = { all: 0, models: 0 };
  registerHooks({
    load(url, context, nextLoad) {
      if (url.includes('/client-node/dist/')) loaded.all += 1;
      if (url.includes('/client-node/dist/gen/models/')) loaded.models += 1;
      return nextLoad(url, context);
    },
  });
  const { KubeConfig } = await import(process.argv[1]);
  new KubeConfig().loadFromOptions({ clusters: [], users: [], contexts: [], currentContext: '' });
  console.log(JSON.stringify(loaded));
`;

describe('KubeConfig', () => {
  it('is loaded without the generated API models', async () => {
    const module = new URL('../../src/kubernetes/kube-config.ts', import.meta.url).href;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', COUNTING, module]);
    expect(JSON.parse(stdout)).toEqual({ all: expect.any(Number), models: 0 });
    expect(JSON.parse(stdout)).not.toMatchObject({ all: 0 });
  });
});
