import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildScript, cleanupScript, unexpanded } from '../../../src/controllers/git-build/jobs.ts';
import { eventually } from '../../../testing/eventually.ts';

let dir: string;
let target: string;
let repository: string;

beforeAll(() => {
  expect(execFileSync('git', ['--version'], { encoding: 'utf8' })).toContain('git version');
});

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'durable-operator-script-'));
  target = join(dir, 'opt');
  repository = join(dir, 'repository');
  await mkdir(target);
  await mkdir(repository);
  await writeFile(join(repository, 'hello.sh'), 'echo hello\n');
  const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args], { stdio: 'pipe' });
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first');
});

afterEach(() => rm(dir, { recursive: true, force: true }));

interface Values {
  readonly GIT_URL: string;
  readonly CLONE_PATH: string;
  readonly BUILD_COMMAND: string;
  readonly BINARY_NAME: string;
}

/** As the kubelet runs it: the very script, its values in the environment. The file transport is for this test alone. */
function built(values: Partial<Values>): Promise<{ code: number; stderr: string }> {
  const defaults: Values = {
    GIT_URL: repository,
    CLONE_PATH: join(dir, 'clone'),
    BUILD_COMMAND: 'cp hello.sh hello',
    BINARY_NAME: 'hello',
  };
  const env = { PATH: process.env['PATH'], HOME: dir, GIT_ALLOW_PROTOCOL: 'file', ...defaults, ...values };
  return run(['-c', buildScript(target)], env);
}

function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    execFile('bash', args, { env, cwd: dir }, (error, _, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr });
    });
  });
}

const written = () => readdir(target);

describe('the build script', () => {
  it('clones, builds there, and copies the binary', async () => {
    expect(await built({})).toMatchObject({ code: 0 });
    expect(await readFile(join(target, 'hello'), 'utf8')).toBe('echo hello\n');
  });

  it('stops at the first step that fails', async () => {
    expect((await built({ BUILD_COMMAND: 'cp hello.sh hello; false; true' })).code).not.toBe(0);
    expect(
      (await built({ CLONE_PATH: join(dir, 'b'), BUILD_COMMAND: 'false; cp hello.sh hello' })).code,
    ).not.toBe(0);
    expect((await built({ CLONE_PATH: join(dir, 'c'), GIT_URL: join(dir, 'none') })).code).not.toBe(0);
    expect((await built({ CLONE_PATH: join(dir, 'd'), BINARY_NAME: 'other' })).code).not.toBe(0);
    expect(await written()).toEqual([]);
  });

  it('replaces what has the name of the binary, and never writes through a link', async () => {
    const elsewhere = join(dir, 'elsewhere');
    await writeFile(elsewhere, 'untouched');
    await symlink(elsewhere, join(target, 'hello'));
    expect(await built({})).toMatchObject({ code: 0 });
    expect(await readFile(elsewhere, 'utf8')).toBe('untouched');
    expect(await readFile(join(target, 'hello'), 'utf8')).toBe('echo hello\n');
  });

  it('does not copy into a directory that has the name of the binary', async () => {
    await mkdir(join(target, 'hello'));
    expect((await built({})).code).not.toBe(0);
    expect(await readdir(join(target, 'hello'))).toEqual([]);
  });

  it('ends at once when its Job is deleted, and copies nothing any more', async () => {
    const env = {
      PATH: process.env['PATH'],
      HOME: dir,
      GIT_ALLOW_PROTOCOL: 'file',
      GIT_URL: repository,
      CLONE_PATH: join(dir, 'clone'),
      BUILD_COMMAND: 'cp hello.sh hello; touch building; sleep 300',
      BINARY_NAME: 'hello',
    };
    const script = spawn('bash', ['-c', buildScript(target)], { env, detached: true, stdio: 'ignore' });
    try {
      await eventually(async () => (await readdir(join(dir, 'clone'))).includes('building'));
      script.kill('SIGTERM');
      expect(await once(script, 'exit')).toEqual([143, null]);
      expect(await written()).toEqual([]);
    } finally {
      // What the command has started goes with the container in a Pod.
      process.kill(-(script.pid ?? 0), 'SIGKILL');
    }
  });

  it('takes a build command that looks like an option for a command', async () => {
    const { stderr } = await built({ BUILD_COMMAND: '-x' });
    expect(stderr).toContain('-x: command not found');
  });

  const HOSTILE = [
    '$(touch ran)',
    '`touch ran`',
    '; touch ran',
    '"; touch ran; "',
    "'; touch ran; '",
    '| touch ran',
    '&& touch ran',
    '\n touch ran',
    '$HOME',
    '* ',
    '--upload-pack=touch ran',
    '--exec=touch ran',
    '-u touch ran',
    'ext::sh -c "touch% ran"',
    '-oProxyCommand=touch ran',
    'ssh://-oProxyCommand=touch ran/x',
    '{touch,ran}',
    '~',
    '!!',
  ];

  it.each(HOSTILE)('never takes for code what is no build command: %j', async (hostile) => {
    for (const field of ['GIT_URL', 'CLONE_PATH', 'BINARY_NAME'] as const) {
      const value = field === 'CLONE_PATH' ? join(dir, 'clones', hostile) : hostile;
      await built({ CLONE_PATH: join(dir, `clone-${field}`), [field]: value });
    }
    const all = await readdir(dir, { recursive: true });
    expect(all.filter((path) => path === 'ran' || path.endsWith('/ran'))).toEqual([]);
  });

  it('lets git use no other transport than those that are allowed', async () => {
    const { code, stderr } = await run(['-c', buildScript(target)], {
      PATH: process.env['PATH'],
      HOME: dir,
      GIT_ALLOW_PROTOCOL: 'https:ssh',
      GIT_URL: `file://${repository}`,
      CLONE_PATH: join(dir, 'clone'),
      BUILD_COMMAND: 'true',
      BINARY_NAME: 'hello.sh',
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain("transport 'file' not allowed");
  });
});

describe('the cleanup script', () => {
  const cleaned = (...binaries: string[]) =>
    run(['-c', cleanupScript(target), 'cleanup', ...binaries], { PATH: process.env['PATH'] });

  it('removes what it is told, and nothing else', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(target, name), '');
    expect(await cleaned('a', 'c')).toMatchObject({ code: 0 });
    expect(await written()).toEqual(['b']);
  });

  it('takes what is not there for removed', async () => {
    expect(await cleaned('a')).toMatchObject({ code: 0 });
  });

  it('passes over a directory, which no build has put there', async () => {
    await mkdir(join(target, 'cni'));
    await writeFile(join(target, 'a'), '');
    expect(await cleaned('cni', 'a')).toMatchObject({ code: 0 });
    expect(await written()).toEqual(['cni']);
  });

  it('removes a link to a directory, and not the directory', async () => {
    await symlink(repository, join(target, 'a'));
    expect(await cleaned('a')).toMatchObject({ code: 0 });
    expect(await written()).toEqual([]);
    expect(await readdir(repository)).toContain('hello.sh');
  });

  it('takes no name for an option, a pattern or code', async () => {
    await writeFile(join(target, 'a'), '');
    await cleaned('-rf', '*', '$(touch ran)', '.');
    expect(await written()).toEqual(['a']);
  });
});

/**
 * The rule as the API reference of Container has it: `$(NAME)` is replaced where NAME is known, and stays where it is
 * not; `$$` is a `$`, so that `$$(NAME)` is the text `$(NAME)`.
 */
function expanded(text: string, known: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (known[name] ?? whole),
  );
}

describe('what the kubelet expands', () => {
  it.each([
    '$(GIT_URL)',
    '$$(GIT_URL)',
    '$',
    '$$',
    '$$$(GIT_URL)$',
    'echo $HOME $(date) $$',
    'plain',
    '$(',
    '$()',
  ])('comes out of it as it was: %j', (text) => {
    expect(expanded(unexpanded(text), { GIT_URL: 'secret', date: 'x', '': 'y' })).toBe(text);
  });

  it('has nothing to expand in the scripts', () => {
    for (const script of [buildScript(), cleanupScript()]) {
      expect(expanded(script, { GIT_URL: 'secret' })).toBe(script);
    }
  });
});
