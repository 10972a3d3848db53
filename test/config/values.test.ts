import { describe, expect, it } from '@jest/globals';
import packageJson from '../../package.json' with { type: 'json' };
import { workerVersionOf, type Config } from '../../src/config/config.ts';
import { configOf, problemsOf, type Given } from '../support/configs.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    [' 1h30m ', 5_400_000],
  ])('%j is %d ms', async (text, milliseconds) => {
    expect((await configOf({ args: ['--resync', text] })).reconciliation.resyncMs).toBe(milliseconds);
  });

  it.each(['3', '-3m', ''])('%j is none', async (text) => {
    expect(await problemsOf({ args: [`--resync=${text}`] })).toEqual([
      `--resync ${JSON.stringify(text)} is not a duration; write a number and a unit, such as 3m, 90s, 1h or 500ms`,
    ]);
  });

  it.each(['99ms', '25d'])('%s is out of range for resync', async (text) => {
    expect(await problemsOf({ args: ['--resync', text] })).toEqual([
      `--resync "${text}" is out of range; write a duration from 100ms to 24d`,
    ]);
  });
});

describe('leader election', () => {
  it.each(['Lease', 'a..b', 'x'.repeat(254)])('has no Lease named %j', async (name) => {
    const [problem, ...others] = await problemsOf({ args: [`--leader-election-name=${name}`] });
    expect(problem).toMatch(/^--leader-election-name .* is (not a Lease name|longer than)/);
    expect(others).toEqual([]);
  });
});

it('the version of a worker is that of the program, where none is given', async () => {
  expect(workerVersionOf(await configOf({ args: ['--worker-deployment', 'op'] }))).toEqual({
    deploymentName: 'op',
    buildId: packageJson.version,
  });
});

describe('the origins that the codec server allows', () => {
  it.each(['*', 'ui.example', 'https://ui.example/'])('do not include %s', async (text) => {
    const [problem] = await problemsOf({ args: ['codec-server', '--codec-allow-origin', text] });
    expect(problem).toMatch(/which is not an origin/);
  });
});

describe('the health address', () => {
  it.each<[string, Config['health']['address']]>([
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:9098', { host: '::1', port: 9098 }],
    ['0', 'off'],
  ])('%s', async (text, expected) => {
    expect((await configOf({ args: ['--health-addr', text] })).health.address).toEqual(expected);
  });

  it.each(['9098', ':65536', 'http://x:1', '::1:9098'])('is not %j', async (text) => {
    expect(await problemsOf({ args: ['--health-addr', text] })).toEqual([
      `--health-addr "${text}" is not an address; write :PORT, HOST:PORT or [IPV6]:PORT, or 0 to disable it`,
    ]);
  });
});

describe('a wrong value is reported in one line with its source, what is wrong and what to write', () => {
  it.each<[Given, RegExp]>([
    [
      { args: ['--controllers', 'pod-lable'] },
      /^--controllers "pod-lable" contains "pod-lable", which is unknown; write one of pod-label, namespace-role-binding, /,
    ],
    [
      { args: ['--controllers='] },
      /^--controllers "" is empty; write one or more of pod-label, namespace-role-binding/,
    ],
    [
      { args: ['--namespaces', 'a,B'] },
      /^--namespaces "a,B" contains "B", which is not a namespace name; use lower-case/,
    ],
    [{ args: ['--namespaces', 'a'.repeat(64)] }, /which is longer than the 63 characters/],
    [
      { args: ['--leader-election-renew-deadline', '15s'] },
      /^--leader-election-renew-deadline "15s" must be shorter than --leader-election-lease-duration, otherwise two/,
    ],
    [
      { args: ['--leader-election-retry-period', '9s'] },
      /^--leader-election-retry-period "9s" must be much shorter than --leader-election-renew-deadline, such as/,
    ],
    [{ args: ['--worker-build-id', 'x'] }, /^--worker-build-id "x" needs a worker deployment; set --worker-/],
    [{ args: ['promote'] }, /^promote needs a worker deployment; set --worker-deployment$/],
    [{ args: ['--activity-slots', '0'] }, /is not a number of activities; write a whole number from 1 to 10/],
    [{ args: ['--log-format', 'JSON'] }, /^--log-format "JSON" is unknown; write one of auto, json, pretty$/],
    [{ args: ['--task-queue', ' '] }, /^--task-queue " " is empty; write a value/],
    [{ args: ['--task-queue', 'q'.repeat(1001)] }, /^--task-queue "q+… is longer than the 1000 characters/],
    [
      { args: ['--task-queue', '/_sys/q'] },
      /is not a task queue name; leave out .*, and \/_sys\/ at the start$/,
    ],
    [
      { args: ['--task-queue', 'say "x"'] },
      /^--task-queue "say \\"x\\"" is not a task queue name; leave out "/,
    ],
    [{ args: ['--task-queue', 'a\tb'] }, /is not a task queue name/],
    [{ args: ['--task-queue', "'a"] }, /is not a task queue name/],
    [
      { args: ['--namespace-selector', 'team in dev'] },
      /^--namespace-selector "team in dev" is not valid: label selector, position 9: expected "\(", found "dev"$/,
    ],
    [
      { args: ['--role-binding-cluster-role', 'a/b'] },
      /^--role-binding-cluster-role "a\/b" is not a ClusterRole name/,
    ],
    [{ args: ['--role-binding-cluster-role', '..'] }, /is not a ClusterRole name/],
    [
      { args: ['--role-binding-prefix', 'a/'] },
      /^--role-binding-prefix "a\/" cannot begin the name of a RoleBinding/,
    ],
    [{ args: ['--role-binding-prefix', 'p'.repeat(191)] }, /is longer than the 190 characters/],
    [{ args: ['--build-image', 'a b'] }, /^--build-image "a b" is not an image name; write one such as/],
    [
      { args: ['--build-host-dir', 'opt'] },
      /^--build-host-dir "opt" is not a host directory; write an absolute path/,
    ],
    [{ args: ['--build-image', '-a'] }, /is not an image name/],
    [{ args: ['--build-host-dir', '/'] }, /is not a host directory; write an absolute path/],
    [{ args: ['--build-host-dir', '/a/../b'] }, /is not a host directory; write an absolute path/],
    [
      { args: ['--build-host-dir', '/proc/x'] },
      /belongs to the kernel; write another directory, such as \/opt/,
    ],
    [
      { args: ['--build-git-transports', 'https,ext'] },
      /contains "ext", which is unknown; write one of https, ssh, http, git$/,
    ],
    [{ args: ['--kubeconfig='] }, /^--kubeconfig "" is empty/],
    [
      { env: { KUBECONFIG: '/nowhere/config' } },
      /^KUBECONFIG "\/nowhere\/config" cannot be read: no such file or directory/,
    ],
    [
      { env: { DURABLE_OPERATOR_RUN_OUTSIDE_CLUSTER: 'yes' } },
      /^DURABLE_OPERATOR_RUN_OUTSIDE_CLUSTER "yes" is not a boolean; write true or false$/,
    ],
    [{ file: 'log-level: info\nresync: 180' }, /^file-\d+:2: resync 180 is not a duration; write/],
    [
      { file: 'namespaces: {a: b}' },
      /^file-\d+:1: namespaces \{"a":"b"\} is not a list; write names separated by commas$/,
    ],
    [
      { file: 'namespaces: [1]' },
      /^file-\d+:1: namespaces \[1\] contains 1, which is not a string; put it in quotes$/,
    ],
    [
      { file: 'namespace-selector: 5' },
      /^file-\d+:1: namespace-selector 5 is not a label selector; write one such as team=a/,
    ],
  ])('%j', async (given, problem) => {
    const problems = await problemsOf(given);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('and several are reported at once, a line each', async () => {
    const problems = await problemsOf({ args: ['--resync', 'x', '--log-level', 'y'], file: 'zzzzz: 1' });
    expect(problems).toEqual([
      expect.stringMatching(/^file-\d+:1: unknown key "zzzzz"/),
      expect.stringMatching(/^--resync/),
      expect.stringMatching(/^--log-level/),
    ]);
  });
});
