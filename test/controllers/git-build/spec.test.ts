import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '../../../src/controllers/git-build/kind.ts';
import type { BuildSpec } from '../../../src/controllers/git-build/kind.ts';
import { checkSpec, isBinaryName, isJobName, specHash } from '../../../src/controllers/git-build/spec.ts';
import type { SpecOptions } from '../../../src/controllers/git-build/spec.ts';
import { SAMPLE } from '../../support/build-samples.ts';

const OPTIONS: SpecOptions = { buildHostDir: '/srv/bin', buildGitTransports: ['https', 'ssh'] };

function problemsOf(fields: Partial<Record<keyof BuildSpec, unknown>>, options = OPTIONS): readonly string[] {
  const checked = checkSpec({ ...SAMPLE, ...fields }, options);
  return checked.ok ? [] : checked.problems;
}

describe('a spec', () => {
  it('as the sample has it is valid, and is what it says', () => {
    expect(checkSpec(SAMPLE, OPTIONS)).toEqual({ ok: true, spec: SAMPLE, hash: specHash(SAMPLE) });
  });

  it('tells all that is wrong at once', () => {
    expect(problemsOf({ binaryName: '-rf', jobName: 'A' })).toHaveLength(2);
  });

  it('may clone by the transports that the options allow, and no other', () => {
    const options: SpecOptions = { ...OPTIONS, buildGitTransports: ['http'] };
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

  it.each(['../x', '-rf', '.', 'a,b', 'a\n'])('has no binary and no Job of the name %j', (name) => {
    expect([isBinaryName(name), isJobName(name)]).toEqual([false, false]);
  });

  it('has a Job of such a name, which has room for that of its cleanup', () => {
    expect(['a', 'a'.repeat(56), 'a'.repeat(57), 'x-delete'].map(isJobName)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

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
