import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '../../../src/controllers/git-build/spec.ts';
import type { BuildSpec } from '../../../src/controllers/git-build/resource.ts';
import { checkSpec, isBinaryName, isJobName, specHash } from '../../../src/controllers/git-build/spec.ts';
import { SAMPLE } from '../../support/build-samples.ts';

const OPTIONS = { hostDir: '/srv/bin', gitTransports: ['https', 'ssh'] } as const;

function problemsOf(fields: Partial<Record<keyof BuildSpec, unknown>>, options = OPTIONS): readonly string[] {
  const checked = checkSpec({ ...SAMPLE, ...fields }, options);
  return checked.ok ? [] : checked.problems;
}

describe('a spec', () => {
  it('as the sample has it is valid, and is what it says', () => {
    expect(checkSpec(SAMPLE, OPTIONS)).toEqual({ ok: true, spec: SAMPLE, hash: specHash(SAMPLE) });
  });

  it.each([undefined, null, 'text', 7, [], {}])('that is %j lacks every field', (raw) => {
    const checked = checkSpec(raw, OPTIONS);
    expect(checked.ok ? [] : checked.problems).toEqual(
      ['gitUrl', 'clonePath', 'buildCommand', 'binaryName', 'jobName'].map(
        (name) => `spec.${name} is missing`,
      ),
    );
  });

  it.each(Object.keys(LIMITS))('must have text in %s', (name) => {
    expect(problemsOf({ [name]: 7 })).toEqual([`spec.${name} must be text`]);
    expect(problemsOf({ [name]: ['go build'] })).toEqual([`spec.${name} must be text`]);
    expect(problemsOf({ [name]: '' })).toEqual([`spec.${name} is missing`]);
    expect(problemsOf({ [name]: null })).toEqual([`spec.${name} is missing`]);
  });

  it.each(Object.entries(LIMITS))('may not have more in %s than its limit', (name, { maxLength }) => {
    expect(problemsOf({ [name]: 'a'.repeat(maxLength + 1) })).toEqual([
      `spec.${name} has ${maxLength + 1} characters, but at most ${maxLength} are allowed`,
    ]);
  });

  it('tells all that is wrong at once', () => {
    expect(problemsOf({ binaryName: '-rf', jobName: 'A' })).toHaveLength(2);
  });

  it.each([
    'https://github.com/kelseyhightower/helloworld.git',
    'https://user:p%40ss@example.com:8443/a/b.git',
    'ssh://git@example.com/a.git',
    'ssh://git@example.com:2222/~user/a.git',
    'git@github.com:team/repository.git',
    'example.com:a.git',
    'https://[2001:db8:0:1:1:1:1:1]/a.git',
    'git@example.com:mirrors/https://example.org/a.git',
  ])('may clone from %s', (gitUrl) => {
    expect(problemsOf({ gitUrl })).toEqual([]);
  });

  it.each([
    '--upload-pack=touch /tmp/x',
    '--upload-pack=x',
    'ext::sh -c id',
    'ext::sh',
    '-oProxyCommand=id',
    'https://example.com/a;id',
    'https://example.com/`id`',
    'https://example.com/$(id)',
    'https://example.com/$HOME',
    'https://example.com/a\nb',
    'https://example.com/a b',
    'https://example.com/a\u0000',
    "https://example.com/'",
    'https://example.com/"',
    'https://example.com/a|b',
    'ssh://-oProxyCommand=id/a',
    'ssh://git@-oProxyCommand=id/a',
    'git@-oProxyCommand=id:a',
    'git@example.com:-oProxyCommand=id',
    'example.com:--upload-pack=id',
    'https://',
    'https:///a',
    'https://example.com',
    'a',
    '/root/repository',
    './repository',
    'fd::7',
    'file:///etc',
    'http://example.com/a.git',
    'git://example.com/a.git',
    'ftp://example.com/a.git',
  ])('may not clone from %j', (gitUrl) => {
    expect(problemsOf({ gitUrl })).toEqual([expect.stringMatching(/^spec\.gitUrl /)]);
  });

  it('may not clone from a URL of a million characters', () => {
    expect(problemsOf({ gitUrl: `https://example.com/${'a'.repeat(1_000_000)}` })).toEqual([
      'spec.gitUrl has 1000020 characters, but at most 2048 are allowed',
    ]);
  });

  it('may clone by the transports that the options allow, and no other', () => {
    const options = { ...OPTIONS, gitTransports: ['http'] as const };
    const problems = (gitUrl: string) => {
      const checked = checkSpec({ ...SAMPLE, gitUrl }, options);
      return checked.ok ? [] : checked.problems;
    };
    expect(problems('http://example.com/a.git')).toEqual([]);
    expect(problems('git@example.com:a.git')).toEqual([
      'spec.gitUrl uses the transport ssh, but the operator only allows http',
    ]);
    expect(problems('HTTPS://example.com/a.git')).toEqual([
      'spec.gitUrl uses the transport https, but the operator only allows http',
    ]);
  });

  it.each(['/root/go/src/k8s.io/x', '/a', '/a/.b/..c', '/processes', '/optional', '/srv/binary', '/a/-b'])(
    'may clone to %s',
    (clonePath) => {
      expect(problemsOf({ clonePath })).toEqual([]);
    },
  );

  it.each([
    'relative',
    './a',
    '..',
    '/',
    '//',
    '/a/',
    '/a//b',
    '/a/..',
    '/a/../b',
    '/./a',
    '/..',
    '/proc',
    '/proc/self',
    '/sys/x',
    '/dev',
    '/opt',
    '/opt/x',
    '/srv/bin',
    '/srv/bin/x',
    '/a b',
    '/a$(id)',
    '/a\n',
    '/a"',
    '-a',
  ])('may not clone to %j', (clonePath) => {
    expect(problemsOf({ clonePath })).toEqual([expect.stringMatching(/^spec\.clonePath must /)]);
  });

  it.each(['go build', 'make\nmake install', 'echo "$(date)" && ls | wc -l', "-x 'y'"])(
    'may build by any shell: %j',
    (buildCommand) => {
      expect(problemsOf({ buildCommand })).toEqual([]);
    },
  );

  it.each(['\u00a0', '\v', '\ufeff x'])(
    'may build by what admission takes for no blank: %j',
    (buildCommand) => {
      expect(problemsOf({ buildCommand })).toEqual([]);
    },
  );

  it('has as many characters as admission counts, which takes a pair of surrogates for one', () => {
    const { maxLength } = LIMITS.buildCommand;
    expect(problemsOf({ buildCommand: '😀'.repeat(maxLength) })).toEqual([]);
    expect(problemsOf({ buildCommand: '😀'.repeat(maxLength + 1) })).toHaveLength(1);
  });

  it.each([' ', '\n\t', 'a\u0000b'])('may not build by %j', (buildCommand) => {
    expect(problemsOf({ buildCommand })).toEqual([expect.stringMatching(/^spec\.buildCommand must /)]);
  });

  it.each(['helloworld', '.hidden', 'a-b_c.d+e@f', '..a', 'A'])('may have the binary %s', (binaryName) => {
    expect(problemsOf({ binaryName })).toEqual([]);
    expect(isBinaryName(binaryName)).toBe(true);
  });

  it.each([
    '../x',
    '/x',
    'a/b',
    '.',
    '..',
    '...',
    '-rf',
    '--',
    'a b',
    "a'b",
    'a"b',
    '$(id)',
    'a\n',
    'a,b',
    '*',
  ])('may not have the binary %j', (binaryName) => {
    expect(problemsOf({ binaryName })).toEqual([expect.stringMatching(/^spec\.binaryName must /)]);
    expect(isBinaryName(binaryName)).toBe(false);
  });

  it.each(['a', '1-a', 'a'.repeat(56)])('may have the Job %s', (jobName) => {
    expect(problemsOf({ jobName })).toEqual([]);
    expect(isJobName(jobName)).toBe(true);
  });

  it.each(['a'.repeat(57), 'A', 'a.b', '-a', 'a-', 'x-delete', 'a_b', 'a b', '../a'])(
    'may not have the Job %s',
    (jobName) => {
      expect(problemsOf({ jobName })).toEqual([expect.stringMatching(/^spec\.jobName /)]);
      expect(isJobName(jobName)).toBe(false);
    },
  );

  it.each<[keyof BuildSpec, string, string]>([
    [
      'gitUrl',
      'ext::sh',
      'must be a URL, or git@host:path: begin with a letter or digit, have no "::", and of other characters only ' +
        '._~/@+,=%&?#![]:-; write others as %XX',
    ],
    ['gitUrl', 'a', 'must be a URL with a host and a path, or git@host:path'],
    ['gitUrl', 'https://', 'must be a URL with a host and a path, or git@host:path'],
    ['gitUrl', 'file:///etc', 'uses the transport file, but the operator only allows https, ssh'],
    ['gitUrl', 'git://h/a', 'uses the transport git, but the operator only allows https, ssh'],
    [
      'clonePath',
      'src/../x',
      'must be an absolute path without ".", ".." or empty segments, of letters, digits and ._+@~-',
    ],
    ['clonePath', '/srv/bin/x', 'must not be /srv/bin or lie below it'],
    ['buildCommand', ' ', 'must be a shell command, and not blank'],
    [
      'binaryName',
      '-rf',
      'must be the name of a file, without a path, of letters, digits and ._+@-, and not begin with "-"',
    ],
    [
      'jobName',
      'A',
      'must be a DNS label: lower-case letters, digits and "-", with a letter or digit at both ends',
    ],
    ['jobName', 'x-delete', 'must not end in -delete, which is reserved for the cleanup Job'],
  ])('with the %s %j is refused in words that say what it must be', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([`spec.${name} ${problem}`]);
  });
});

describe('the hash of a spec', () => {
  it.each(Object.keys(LIMITS))('is another where %s is', (name) => {
    expect(specHash({ ...SAMPLE, [name]: 'other' })).not.toBe(specHash(SAMPLE));
  });

  it('does not take one field for another', () => {
    const [one, other] = [
      { ...SAMPLE, binaryName: 'a', jobName: 'bc' },
      { ...SAMPLE, binaryName: 'ab', jobName: 'c' },
    ];
    expect(specHash(one)).not.toBe(specHash(other));
  });

  it('is the same in every version: a change would build everything anew', () => {
    expect(specHash(SAMPLE)).toBe('3e303c0dafbc592878cf55493611fef1');
  });
});
