import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from '../support/built.ts';

/*
 * Puts each deliberate mistake into a copy of the last commit, and has the campaign judge that operator.
 * Run: npm run campaign:bugs -- [NAME...]
 */

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const BUGS = join(import.meta.dirname, 'bugs');
const CAMPAIGN = join(import.meta.dirname, 'main.ts');

/** What the campaign prints of an operator with this mistake. */
async function judgmentOf(patch: string): Promise<string> {
  const [, args = ''] = /^Campaign: (.+)$/m.exec(await readFile(patch, 'utf8')) ?? [];
  const copy = await mkdtemp(join(tmpdir(), 'durable-operator-bug-'));
  try {
    await run('git', ['worktree', 'add', '--detach', copy], { cwd: ROOT });
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    await run('git', ['apply', patch], { cwd: copy });
    await run('npm', ['run', '--silent', 'build'], { cwd: copy });
    const program = join(copy, 'dist/src/main.js');
    const judging = [CAMPAIGN, '--no-build', '--program', program, ...args.split(' ')];
    return await run(process.execPath, judging).then(({ stdout }) => stdout, printed);
  } finally {
    await run('git', ['worktree', 'remove', '--force', copy], { cwd: ROOT }).catch(() => undefined);
    await rm(copy, { recursive: true, force: true });
  }
}

function printed(error: unknown): string {
  return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
}

const names = process.argv.slice(2);
await build();
for (const file of (await readdir(BUGS)).sort()) {
  const name = basename(file, '.patch');
  if (names.length > 0 && !names.includes(name)) continue;
  const judgment = await judgmentOf(join(BUGS, file));
  const violations = judgment.match(/^ {2}I\d+: .+$/gm) ?? [];
  if (violations.length === 0) process.exitCode = 1;
  const found = violations.length === 0 ? [`MISSED: ${judgment}`] : violations;
  process.stdout.write(`${name}:\n${found.join('\n')}\n`);
}
