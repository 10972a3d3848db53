import type { Condition } from '../../src/engine/condition.ts';
import { LIMITS, type BuildSpec } from '../../src/controllers/git-build/kind.ts';
import { SAMPLE } from './build-samples.ts';

/*
 * Odd and hostile values, one table for each field. Unit tests give them to the parsers and to `decide`, end-to-end tests
 * to the API server.
 */

/** As large as all annotations of an object together. */
export const HUGE = 'x'.repeat(2 ** 18);

/** No field of an Xxx but its command may contain one of these. */
const HOSTILE_PARTS = [
  ...[' ', '\n', '\r', '\t', '\v', '\0', '\x1b[2J', '\u00a0', '\u2028', '\ufeff', 'e\u0301', '\u202e', '😀'],
  ...[';', '|', '<', '>', '(', '{', '*', '$', '`', '"', "'", '\\', '$(id)', '${HOME}', '$$', '::x'],
];

const NO_TEXTS = [7, true, ['a'], { a: 'b' }, null, undefined, ''];

/** The sample with one field of its spec changed. */
export interface OddSpec {
  readonly field: keyof BuildSpec;
  readonly value: unknown;
}

const oddSpecs = (field: keyof BuildSpec, ...values: readonly unknown[]) =>
  values.map((value): OddSpec => ({ field, value }));
const sampleWith = (field: 'gitUrl' | 'clonePath' | 'binaryName' | 'jobName', part: string) => {
  const text = SAMPLE[field];
  return [part + text, text + part, text.slice(0, 5) + part + text.slice(5)];
};
const hostile = (field: 'gitUrl' | 'clonePath' | 'binaryName' | 'jobName') =>
  oddSpecs(field, ...HOSTILE_PARTS.flatMap((part) => sampleWith(field, part)));

const URL_MAX = 'https://h/'.padEnd(LIMITS.gitUrl.maxLength, 'a');

export const GOOD_SPECS: readonly OddSpec[] = [
  ...oddSpecs(
    'gitUrl',
    'https://user:p%40ss@example.com:8443/a/b.git',
    'ssh://git@example.com:2222/~user/a.git',
    'https://example.com/a%20b?c=d&e=%3B',
  ),
  ...oddSpecs('gitUrl', 'git@github.com:team/repository.git', 'example.com:a.git', 'HTTPS://h/a', URL_MAX),
  ...oddSpecs('gitUrl', 'https://[2001:db8:0:1:1:1:1:1]/a.git', 'git@h:mirrors/https://example.org/a.git'),
  ...oddSpecs('clonePath', '/a', '/a/.b/..c', '/processes', '/optional', '/srv/binary', '/a/-b'),
  ...oddSpecs('clonePath', `/${'a'.repeat(LIMITS.clonePath.maxLength - 1)}`),
  ...oddSpecs(
    'buildCommand',
    'make\nmake install',
    'echo "$(date)" && ls | wc -l',
    "-x 'y'",
    '\ufeff x',
    '\v',
  ),
  // A pair of surrogates counts as one character.
  ...oddSpecs('buildCommand', '\u00a0', '😀'.repeat(LIMITS.buildCommand.maxLength)),
  ...oddSpecs('binaryName', '.hidden', 'a-b_c.d+e@f', '..a', 'A', 'constructor', 'a'.repeat(255)),
  ...oddSpecs('jobName', 'a', '1-a', 'constructor', 'a'.repeat(56)),
];

export const BAD_SPECS: readonly OddSpec[] = [
  ...Object.values(LIMITS).flatMap(({ maxLength }, place) => {
    const field = Object.keys(LIMITS)[place] as keyof BuildSpec;
    return oddSpecs(field, ...NO_TEXTS, 'a'.repeat(maxLength + 1));
  }),
  ...hostile('gitUrl'),
  ...oddSpecs('gitUrl', '--upload-pack=touch /tmp/x', '--upload-pack=x', 'ext::sh -c id', 'fd::7', 'ext::sh'),
  ...oddSpecs('gitUrl', '-oProxyCommand=id', 'ssh://-oProxyCommand=id/a', 'ssh://git@-oProxyCommand=id/a'),
  ...oddSpecs(
    'gitUrl',
    'git@-oProxyCommand=id:a',
    'git@h:-oProxyCommand=id',
    'h:--upload-pack=id',
    `${URL_MAX}a`,
  ),
  ...oddSpecs(
    'gitUrl',
    'https://',
    'https:///a',
    'https://example.com',
    'a',
    '/root/repository',
    './repository',
  ),
  ...oddSpecs(
    'gitUrl',
    'file:///etc',
    'http://h/a.git',
    'git://h/a.git',
    'ftp://h/a.git',
    'a'.repeat(2 ** 20),
  ),
  ...hostile('clonePath'),
  ...oddSpecs(
    'clonePath',
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
    '-a',
  ),
  ...oddSpecs(
    'clonePath',
    '/proc',
    '/proc/self',
    '/sys/x',
    '/dev',
    '/opt',
    '/opt/x',
    '/srv/bin',
    '/srv/bin/x',
  ),
  ...oddSpecs('buildCommand', ' ', '\n\t', 'a\0b', '😀'.repeat(LIMITS.buildCommand.maxLength + 1)),
  ...hostile('binaryName'),
  ...oddSpecs('binaryName', '../x', '/x', 'a/b', '.', '..', '...', '-rf', '--', 'a,b', 'a'.repeat(256)),
  ...hostile('jobName'),
  ...oddSpecs('jobName', 'a'.repeat(57), 'A', 'a.b', '-a', 'a-', 'x-delete', 'a_b', '../a'),
];

/** Admission cannot know the operator's options, nor which host a URL names. */
export function isBeyondAdmission(problem: string): boolean {
  return [
    /^spec\.gitUrl must be a URL with a host and a path, or git@host:path$/,
    /^spec\.gitUrl uses the transport \S+, but the operator only allows https, ssh$/,
    /^spec\.clonePath must not be \/srv\/bin or lie below it$/,
  ].some((known) => known.test(problem));
}

export const GOOD_REPLICAS = [0, 1, 2 ** 31 - 1];
export const BAD_REPLICAS = [-1, 2 ** 31, 1.5, 1e300, '3', '', null, undefined, true, [], [3], {}];

export const CONDITION: Condition = {
  type: 'Theirs',
  status: 'Unknown',
  observedGeneration: 3,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'Odd',
  message: 'words of theirs',
};

/** A condition with one field changed. */
export interface OddCondition {
  readonly field: keyof Condition;
  readonly value: unknown;
}

const oddConditions = (field: keyof Condition, ...values: readonly unknown[]) =>
  values.map((value): OddCondition => ({ field, value }));

export const GOOD_CONDITIONS: readonly OddCondition[] = [
  ...oddConditions(
    'type',
    'A',
    'Disk-1_full.x',
    'a.b/A',
    'conditions.my-example.com/Theirs',
    'T'.repeat(316),
  ),
  ...oddConditions('reason', 'A', 'Odd:1,even_', 'T'.repeat(1024)),
  ...oddConditions('lastTransitionTime', '2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.5-05:30'),
  ...oddConditions('lastTransitionTime', '2024-02-29T23:59:59Z'),
];

/** Whoever writes a status with one of these is refused. */
export const BAD_CONDITIONS: readonly OddCondition[] = [
  ...oddConditions(
    'type',
    undefined,
    7,
    '',
    '-Theirs',
    'Theirs-',
    'Example.com/Theirs',
    'example..com/Theirs',
  ),
  ...oddConditions('type', 'example.com/', 'T'.repeat(317)),
  ...oddConditions('status', undefined, true, 'Maybe'),
  ...oddConditions('reason', undefined, '1Odd', 'Odd:', 'in words', 'T'.repeat(1025)),
  ...oddConditions('lastTransitionTime', undefined, 'yesterday', 'Jan 1, 2026', '2026-01-01T00:00:00'),
  // To JavaScript, these are times.
  ...oddConditions('lastTransitionTime', '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z'),
  ...oddConditions('lastTransitionTime', '+002026-01-01T00:00:00Z', '2026-13-01T00:00:00Z'),
];

const conditions = [{ ...CONDITION, type: 'Ready', message: HUGE.slice(0, 32_768) }, CONDITION];
const stalled = {
  ...CONDITION,
  type: 'Stalled',
  status: 'True',
  reason: 'Refused',
  observedGeneration: 1,
};

/** Statuses that somebody writes by hand, and that the API server accepts. */
export const ODD_POD_SET_STATUSES: readonly object[] = [
  { podNames: ['', 'a/b', '..', 'A', '-rf', 'constructor', HUGE] },
  { podNames: ['web-pod-a', 'web-pod-a'], readyReplicas: 2 ** 31 - 1, selector: '$(id)' },
  { observedGeneration: Number.MAX_SAFE_INTEGER, conditions, lastHandledReconcileAt: '😀'.repeat(1024) },
  { observedGeneration: 1, conditions: [{ ...stalled, reason: 'CreateFailed' }], lastHandledApproval: '1-x' },
];
export const ODD_BUILD_STATUSES: readonly object[] = [
  { phase: 'Pending', jobName: '../x', message: HUGE, binaryName: '-rf', workflowId: '' },
  { phase: 'Building', startTime: '9999-12-31T23:59:59Z', completionTime: '0001-01-01T00:00:00Z' },
  {
    phase: 'Failed',
    artifacts: [
      { node: '../n', binary: '../etc/passwd' },
      { node: HUGE, binary: '*' },
    ],
  },
  { phase: 'Cleaning', jobName: 'constructor', observedGeneration: Number.MAX_SAFE_INTEGER, conditions },
  { phase: 'Pending', observedGeneration: 1, startTime: '2026-01-01T00:00:00+02:00', conditions: [stalled] },
];

/** Statuses that the API server refuses. They may be stored since before there was a schema. */
export const BAD_STATUSES: readonly object[] = [
  { conditions: [null, 3, 'x'] },
  { conditions: 'x' },
  { observedGeneration: -2 },
  { observedGeneration: 1.5 },
  { observedGeneration: 2 ** 63 },
  { lastHandledReconcileAt: 'x'.repeat(1025) },
];
export const BAD_POD_SET_STATUSES: readonly object[] = [
  ...BAD_STATUSES,
  { podNames: 'a' },
  { podNames: ['a', 7, null, {}] },
  { readyReplicas: '1' },
  { readyReplicas: -1 },
];
export const BAD_BUILD_STATUSES: readonly object[] = [
  ...BAD_STATUSES,
  { phase: 'Wrong', jobName: 7, message: ['x'] },
  { artifacts: 'x' },
  { artifacts: ['text', 7, { node: 'n' }, { binary: 'ok' }, { node: 7, binary: 7 }] },
  { startTime: 'yesterday', completionTime: 7 },
];
