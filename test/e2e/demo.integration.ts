import { describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { PROGRAM } from '../support/built.ts';

jest.setTimeout(300_000);

const DEMO = join(import.meta.dirname, '../../local/demo.ts');

/** What each part shows once it has checked it. */
const PARTS: readonly [title: string, checked: string][] = [
  ['1. A quota stops a PodSet', '✓ 7 of 10 Pods are there'],
  ['2. The operator is killed during the backoff', '✓ the new operator continued with attempt '],
  ['3. The quota is raised', 'podset.batch.tutorial.kubebuilder.io/web condition met'],
  ['4. 300 Pods, and two kills', '✓ 300 Pods are there, and no more'],
  ['5. A typo asks to delete 290 Pods', '✓ no Pod was deleted without an approval'],
];

describe('npm run demo', () => {
  it('shows and checks its parts on the running local stack', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
    const dir = join(folder, 'stack');
    const stack = spawn(process.execPath, [PROGRAM, 'dev', '--dir', dir, '--samples', 'deploy/samples'], {
      env: withoutServers(),
    });
    try {
      await untilLineWith('Ctrl-C', stack.stdout);
      const demo = spawn(process.execPath, [DEMO, '--dir', dir]);
      const [shown, problems] = await Promise.all([text(demo.stdout), text(demo.stderr), once(demo, 'exit')]);
      expect({ status: demo.exitCode, problems, shown }).toEqual({
        status: 0,
        problems: '',
        shown: expect.any(String),
      });
      const parts = shown.split(/^(?=\d\. )/m).slice(1);
      expect(parts.map((part) => part.split('\n')[0])).toEqual(PARTS.map(([title]) => title));
      for (const [index, [, checked]] of PARTS.entries()) expect(parts[index]).toContain(checked);
    } finally {
      stack.kill('SIGTERM');
      await once(stack, 'exit');
      await rm(folder, { recursive: true });
    }
  });

  it('says what to do if no local stack is running', async () => {
    const demo = spawn(process.execPath, [DEMO, '--dir', join(tmpdir(), 'no-stack')]);
    const [problems] = await Promise.all([text(demo.stderr), once(demo, 'exit')]);
    expect(demo.exitCode).toBe(1);
    expect(problems).toContain('run npm start first');
  });
});

/** The environment of a person who has named neither a cluster nor a Temporal server. */
function withoutServers(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME };
}

async function untilLineWith(part: string, input: Readable): Promise<void> {
  for await (const line of createInterface({ input })) if (line.includes(part)) break;
}
