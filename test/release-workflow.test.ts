import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';

/* What the workflow that publishes a release does where it has failed before: its scripts, with programs that only say what they were asked. */

const WORKFLOW = join(import.meta.dirname, '../.github/workflows/release.yml');
const Step = z.looseObject({
  name: z.string().optional(),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  with: z.record(z.string(), z.unknown()).default({}),
});
const Workflow = z.looseObject({
  jobs: z.record(z.string(), z.looseObject({ steps: z.array(Step).default([]) })),
});
const { jobs } = Workflow.parse(parse(readFileSync(WORKFLOW, 'utf8')));
const steps = Object.values(jobs).flatMap((job) => job.steps);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'durable-operator-workflow-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Makes a program that writes down its arguments. @param script what it does besides, in Bourne shell */
function program(name: string, script: string): void {
  const file = join(dir, name);
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >>"$CALLS"\n${script}\n`);
  chmodSync(file, 0o755);
}

interface Ran {
  /** What the programs were asked, in this order. */
  readonly calls: readonly string[];
  /** `key=value` each. */
  readonly outputs: readonly string[];
}

/** Runs a step as GitHub does. @throws Error where it fails */
async function ran(name: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const script = steps.find((step) => step.name === name)?.run;
  if (script === undefined) throw new Error(`release.yml has no step "${name}" with a script`);
  const [calls, outputs] = [join(dir, 'calls'), join(dir, 'outputs')];
  for (const file of [calls, outputs]) writeFileSync(file, '');
  const given = {
    GITHUB_REF_NAME: 'v1.2.3',
    GITHUB_REPOSITORY: 'Owner/Name',
    GITHUB_REPOSITORY_OWNER: 'Owner',
  };
  await promisify(execFile)('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    env: {
      PATH: `${dir}:${process.env['PATH'] ?? ''}`,
      CALLS: calls,
      GITHUB_OUTPUT: outputs,
      RUNNER_TEMP: dir,
      ...given,
      ...env,
    },
  });
  const linesOf = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  return { calls: linesOf(calls), outputs: linesOf(outputs) };
}

describe('the workflow that publishes a release', () => {
  it('tags the image with the version, without the "v" of the tag in git', async () => {
    const { outputs } = await ran('name the image, which must be in lower case; its tag is the version');
    expect(outputs).toEqual(['name=ghcr.io/owner/name', 'tag=1.2.3']);
    const tags = steps.flatMap(({ with: { tags } }) => (typeof tags === 'string' ? [tags] : []));
    expect(tags).toEqual(['${{ steps.name.outputs.name }}:${{ steps.name.outputs.tag }}']);
  });

  describe('asks whether the image has been pushed', () => {
    const STEP = 'has it been pushed already, from this commit?';
    const env = { IMAGE: 'ghcr.io/owner/name:1.2.3', GITHUB_SHA: 'abc' };
    const pushedFrom = (revision: string) => {
      const Labels = { 'org.opencontainers.image.revision': revision };
      const image = { manifest: { digest: 'sha256:1' }, image: { 'linux/amd64': { config: { Labels } } } };
      program('docker', `echo '${JSON.stringify(image)}'`);
    };

    it('and takes its digest where it has', async () => {
      pushedFrom('abc');
      expect((await ran(STEP, env)).outputs).toEqual(['digest=sha256:1']);
    });

    it('and takes none where it has not', async () => {
      program('docker', `echo "ERROR: ${env.IMAGE}: not found" >&2; exit 1`);
      expect((await ran(STEP, env)).outputs).toEqual([]);
    });

    it('and fails where the registry does not say', async () => {
      program('docker', 'echo "ERROR: unexpected status: 503 Service Unavailable" >&2; exit 1');
      await expect(ran(STEP, env)).rejects.toThrow('503 Service Unavailable');
    });

    it('and fails where that was from another commit', async () => {
      pushedFrom('def');
      await expect(ran(STEP, env)).rejects.toThrow();
    });
  });

  describe('asks whether the chart has been pushed', () => {
    const STEP = 'push the chart, and sign it';
    const CHART = 'ghcr.io/owner/charts/durable-operator';
    const env = { TOKEN: 'x', GITHUB_ACTOR: 'me' };
    const digestIs = (digest: string) => `printf 'Pushed: ${CHART}:1.2.3\\nDigest: sha256:${digest}\\n' >&2`;
    const helm = (shows: string) => {
      program('helm', `case "$1" in show) ${shows};; push) ${digestIs('new')};; esac`);
      program('cosign', 'true');
    };

    it.each([
      ['pushes and signs it where it has not', 'echo "Error: 1.2.3: not found" >&2; exit 1', 1, 'new'],
      ['only signs it where it has', `echo "name: durable-operator"; ${digestIs('old')}`, 0, 'old'],
    ])('and %s', async (_what, shows, pushes, digest) => {
      helm(shows);
      const { calls } = await ran(STEP, env);
      expect(calls).toContain(`helm show chart oci://${CHART} --version 1.2.3`);
      expect(calls.filter((call) => call.startsWith('helm push'))).toHaveLength(pushes);
      expect(calls.at(-1)).toBe(`cosign sign --yes ${CHART}@sha256:${digest}`);
    });

    it.each([
      [
        'the registry does not say',
        'echo "Error: response status code 403: denied" >&2; exit 1',
        '403: denied',
      ],
      ['no digest is printed', 'echo "name: durable-operator"', 'durable-operator'],
    ])('and fails where %s', async (_case, shows, said) => {
      helm(shows);
      await expect(ran(STEP, env)).rejects.toMatchObject({ stdout: expect.stringContaining(said) });
    });
  });

  it.each([
    ['does not know them yet', 'echo "npm error code E404" >&2; exit 1', 2],
    ['has no such version yet', 'true', 2],
    ['has them already', 'echo 1.2.3', 0],
  ])('publishes both packages if npm %s', async (_what, views, publishes) => {
    program('npm', `if [ "$1" = view ]; then ${views}; fi`);
    const { calls } = await ran('publish the packages');
    expect(calls).toContain('npm view durable-operator@1.2.3 version');
    expect(calls.filter((call) => call.startsWith('npm publish'))).toHaveLength(publishes);
  });

  it('takes a token for the first version of the package, which npm trusts nobody to publish', () => {
    const step = steps.find(({ name }) => name === 'publish the packages');
    expect(step?.env).toEqual({ NODE_AUTH_TOKEN: '${{ secrets.NPM_TOKEN }}' });
  });

  it.each([
    ['is not there', 'exit 1', ['create', 'upload', 'edit']],
    ['is a draft that may lack files', 'echo true', ['upload', 'edit']],
    ['is published', 'echo false', []],
  ])('completes a release that %s', async (_what, views, deeds) => {
    program('gh', `if [ "$2" = view ]; then ${views}; fi`);
    const { calls } = await ran('make the release');
    expect(calls.slice(1).map((call) => call.split(' ')[2])).toEqual(deeds);
  });
});
