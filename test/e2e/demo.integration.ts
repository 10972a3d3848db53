import { describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PROGRAM } from '../support/built.ts';

jest.setTimeout(240_000);

/** What each act says once it has checked what it shows. */
const ACTS: readonly [title: string, checked: RegExp][] = [
  ['1. A quota stops a PodSet', /✓ 7 of 10 Pods, and \d+ attempts have failed/],
  ['2. The operator is killed in its backoff', /✓ it went on with attempt \d+, at .+ due/],
  ['3. Why is it not ready?', /✓ it names the step, the attempt, the cause and what to do/],
  ['4. The quota is raised', /✓ 10 of 10 Pods, \d+\.\d s later/],
  ['5. 300 Pods, and two kills', /✓ 300 Pods are there, and a watch of all Pods saw no other one/],
  ['6. A typo asks to delete 290 Pods', /✓ 310 Pods, and not one was ever deleted/],
];

describe('the command demo', () => {
  it('shows six acts on a stack of its own, checks each, and records itself', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, 'apiVersion: v1\nkind: Config\n');
    const child = spawn(process.execPath, [PROGRAM, 'demo', '--record', join(folder, 'demo.cast')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Neither is for the demonstration, which must not touch what a person works on.
      env: { ...process.env, KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: 'nowhere.invalid:1' },
    });
    const [said, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect({ status: child.exitCode, problems }).toEqual({ status: 0, problems: '' });
    const acts = said.split(/^(?=\d\. )/m).slice(1);
    expect(acts.map((act) => act.split('\n')[0])).toEqual(ACTS.map(([title]) => title));
    for (const [index, [, checked]] of ACTS.entries()) expect(acts[index]).toMatch(checked);
    expect(said).not.toContain('\u001b');
    const [header = '', ...events] = (await readFile(join(folder, 'demo.cast'), 'utf8')).trim().split('\n');
    expect(JSON.parse(header)).toMatchObject({ version: 2, width: 104, height: 32 });
    expect(events.length).toBeGreaterThan(20);
    expect(await readFile(join(folder, 'demo.svg'), 'utf8')).toContain('not one was ever deleted');
    await rm(folder, { recursive: true });
  });
});
