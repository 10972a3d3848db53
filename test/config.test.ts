import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { parseConfig, type Config } from '../src/config.ts';

const CONTROLLERS = ['pod-label', 'namespace-role-binding'];

let directory: string;
let written = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'durable-operator-config-'));
});

afterAll(() => rm(directory, { recursive: true }));

async function aFile(text: string): Promise<string> {
  written += 1;
  const path = join(directory, `file-${written}`);
  await writeFile(path, text);
  return path;
}

/** What somebody gives to the program: words of the command line, variables, a file. */
interface Given {
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly file?: string;
}

async function parsed({ args = [], env = {}, file }: Given) {
  const named = file === undefined ? [] : ['--config', await aFile(file)];
  // The person who runs the tests may have a profile of their own.
  return parseConfig([...args, ...named], { XDG_CONFIG_HOME: directory, ...env }, CONTROLLERS);
}

async function configOf(given: Given): Promise<Config> {
  const result = await parsed(given);
  if (result.kind !== 'config') throw new Error(`refused: ${result.output}`);
  return result.config;
}

/** The lines of a refusal, without what each begins with. */
async function problemsOf(given: Given): Promise<string[]> {
  const result = await parsed(given);
  expect(result).toMatchObject({ kind: 'exit', code: 2, to: 'stderr' });
  const output = result.kind === 'exit' ? result.output : '';
  expect(output).toMatch(/^(durable-operator: .*\n)+$/);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.replace('durable-operator: ', '').replaceAll(`${directory}/`, ''));
}

describe('without anything given', () => {
  it('the program runs watcher and worker, with the defaults that people know', async () => {
    expect(await configOf({})).toEqual({
      command: 'run',
      cluster: { runOutsideCluster: false },
      temporal: {
        address: 'localhost:7233',
        namespace: 'default',
        connect: { namespace: 'default', connectionOptions: { address: 'localhost:7233' } },
      },
      taskQueue: 'durable-operator',
      healthAddress: { host: '', port: 9098 },
      metrics: { address: { host: '', port: 9097 }, secure: false },
      tracing: false,
      leaderElection: {
        enabled: false,
        name: 'durable-operator',
        leaseDurationMs: 15_000,
        renewDeadlineMs: 10_000,
        retryPeriodMs: 2_000,
      },
      promote: { waitForDrainMs: 0, moveOpenRuns: false },
      codecServer: { address: { host: '127.0.0.1', port: 9096 }, allowOrigins: ['http://localhost:8233'] },
      controllers: CONTROLLERS,
      namespaces: [],
      resyncMs: 180_000,
      log: { level: 'info', format: 'auto' },
      roleBinding: {
        clusterRole: 'edit',
        prefix: 'ad-kubernetes-',
        namespaceSelector: '',
        excludeNamespaces: ['kube-system', 'kube-public', 'kube-node-lease'],
      },
      build: {
        image: 'golang:1.13',
        hostDir: '/opt',
        deadlineMs: 3_600_000,
        gitTransports: ['https', 'ssh'],
      },
      local: { exitWhenConverged: false, kubernetesGiven: false, temporalGiven: false },
    });
  });
});

describe('commands', () => {
  it.each(['run', 'watch', 'work', 'promote', 'codec-server', 'local'])('%s is one', async (command) => {
    const args = [command, '--worker-deployment=op'];
    expect((await configOf({ args })).command).toBe(command);
  });

  it.each([[['watch', '--resync', '1m']], [['--resync', '1m', 'watch']], [['--resync=1m', 'watch']]])(
    'take options before and after them: %j',
    async (args) => {
      expect(await configOf({ args })).toMatchObject({ command: 'watch', resyncMs: 60_000 });
    },
  );

  it('are suggested where one is nearly right', async () => {
    expect(await problemsOf({ args: ['wrk'] })).toEqual([
      '"wrk" is neither an option nor a command (did you mean work?); the commands are run, watch, work, promote, codec-server, local',
    ]);
  });

  it('take no words besides', async () => {
    expect(await problemsOf({ args: ['work', 'hard'] })).toEqual([
      '"hard" is neither an option nor a command; the commands are run, watch, work, promote, codec-server, local',
    ]);
  });
});

describe('flags win over environment, environment over the file, the file over defaults', () => {
  const flag = { args: ['--resync', '1s'] };
  const env = { env: { DURABLE_OPERATOR_RESYNC: '2s' } };
  const file = { file: 'resync: 3s' };

  it.each<[Given, resyncMs: number]>([
    [{ ...flag, ...env, ...file }, 1000],
    [{ ...flag, ...file }, 1000],
    [{ ...env, ...file }, 2000],
    [file, 3000],
    [{}, 180_000],
    // Templates leave empty variables behind.
    [{ env: { DURABLE_OPERATOR_RESYNC: '' }, ...file }, 3000],
  ])('%j', async (given, resyncMs) => {
    expect((await configOf(given)).resyncMs).toBe(resyncMs);
  });

  it('and a wrong value that is overridden does no harm', async () => {
    expect((await configOf({ ...flag, env: { DURABLE_OPERATOR_RESYNC: 'soon' } })).resyncMs).toBe(1000);
  });

  it('and a flag can take back what the environment turned on', async () => {
    const env = { DURABLE_OPERATOR_RUN_OUTSIDE_CLUSTER: 'true' };
    expect((await configOf({ env })).cluster.runOutsideCluster).toBe(true);
    expect((await configOf({ env, args: ['--run-outside-cluster=false'] })).cluster.runOutsideCluster).toBe(
      false,
    );
  });

  it('and the file may be named by the environment', async () => {
    const DURABLE_OPERATOR_CONFIG = await aFile('resync: 3s');
    expect((await configOf({ env: { DURABLE_OPERATOR_CONFIG } })).resyncMs).toBe(3000);
  });
});

describe('every option is read from each source', () => {
  const cases: [name: string, text: string, yaml: string, expected: object][] = [
    ['run-outside-cluster', 'true', 'true', { cluster: { runOutsideCluster: true } }],
    ['controllers', 'pod-label', '[pod-label]', { controllers: ['pod-label'] }],
    ['namespaces', 'a,b', '[a, b]', { namespaces: ['a', 'b'] }],
    ['resync', '90s', '90s', { resyncMs: 90_000 }],
    ['task-queue', 'q', 'q', { taskQueue: 'q' }],
    ['health-addr', '127.0.0.1:1', '127.0.0.1:1', { healthAddress: { host: '127.0.0.1', port: 1 } }],
    ['log-level', 'debug', 'debug', { log: { level: 'debug' } }],
    ['log-format', 'pretty', 'pretty', { log: { format: 'pretty' } }],
    ['namespace-selector', 'a=b', 'a=b', { roleBinding: { namespaceSelector: 'a=b' } }],
    ['exclude-namespaces', 'x', '[x]', { roleBinding: { excludeNamespaces: ['x'] } }],
    ['role-binding-cluster-role', 'view', 'view', { roleBinding: { clusterRole: 'view' } }],
    ['role-binding-prefix', 'g-', 'g-', { roleBinding: { prefix: 'g-' } }],
    ['build-image', 'go:2', 'go:2', { build: { image: 'go:2' } }],
    ['build-host-dir', '/srv', '/srv', { build: { hostDir: '/srv' } }],
    ['build-deadline', '2m', '2m', { build: { deadlineMs: 120_000 } }],
    ['build-git-transports', 'http', '[http]', { build: { gitTransports: ['http'] } }],
    ['enable-leader-election', 'true', 'true', { leaderElection: { enabled: true } }],
    ['leader-election-namespace', 'ns', 'ns', { leaderElection: { namespace: 'ns' } }],
    ['leader-election-name', 'n.x', 'n.x', { leaderElection: { name: 'n.x' } }],
    ['leader-election-lease-duration', '20s', '20s', { leaderElection: { leaseDurationMs: 20_000 } }],
    ['leader-election-renew-deadline', '9s', '9s', { leaderElection: { renewDeadlineMs: 9_000 } }],
    ['leader-election-retry-period', '1s', '1s', { leaderElection: { retryPeriodMs: 1_000 } }],
    ['metrics-addr', '127.0.0.1:1', '127.0.0.1:1', { metrics: { address: { host: '127.0.0.1', port: 1 } } }],
    ['metrics-secure', 'true', 'true', { metrics: { secure: true } }],
    ['metrics-cert-dir', '/certs', '/certs', { metrics: { certDir: '/certs' } }],
    ['tracing', 'true', 'true', { tracing: true }],
    ['worker-deployment', 'op', 'op', { workerVersion: { deploymentName: 'op' } }],
    ['dir', '/d', '/d', { local: { dir: '/d' } }],
    ['exit-when-converged', 'true', 'true', { local: { exitWhenConverged: true } }],
  ];

  it.each(cases)('--%s', async (name, text, yaml, expected) => {
    const variable = `DURABLE_OPERATOR_${name.toUpperCase().replaceAll('-', '_')}`;
    expect(await configOf({ args: ['local', `--${name}=${text}`] })).toMatchObject(expected);
    expect(await configOf({ env: { [variable]: text } })).toMatchObject(expected);
    expect(await configOf({ file: `${name}: ${yaml}` })).toMatchObject(expected);
  });

  it('and kubeconfig, besides, from KUBECONFIG', async () => {
    const [a, b, c] = [await aFile(''), await aFile(''), await aFile('')];
    const env = { KUBECONFIG: b, DURABLE_OPERATOR_KUBECONFIG: a };
    expect((await configOf({ args: ['--kubeconfig', c], env })).cluster.kubeconfig).toBe(c);
    expect((await configOf({ env })).cluster.kubeconfig).toBe(a);
    expect((await configOf({ env: { KUBECONFIG: b }, file: `kubeconfig: ${c}` })).cluster.kubeconfig).toBe(b);
    expect((await configOf({ file: `kubeconfig: ${c}` })).cluster.kubeconfig).toBe(c);
  });
});

describe('durations', () => {
  it.each([
    ['3m', 180_000],
    ['90s', 90_000],
    ['1h', 3_600_000],
    ['500ms', 500],
    ['1h30m', 5_400_000],
    ['1.5m', 90_000],
    [' 3m ', 180_000],
  ])('%j is %d ms', async (text, milliseconds) => {
    expect((await configOf({ args: ['--resync', text] })).resyncMs).toBe(milliseconds);
  });

  it.each(['3', 'soon', '3 bananas', '-3m', '3m!', 'm', '3x', '1h 3', ''])('%j is none', async (text) => {
    expect(await problemsOf({ args: [`--resync=${text}`] })).toEqual([
      `--resync ${JSON.stringify(text)} is not a duration; write a number and a unit, such as 3m, 90s, 1h or 500ms`,
    ]);
  });

  it.each(['0s', '99ms', '25d'])('%s is out of range for resync', async (text) => {
    expect(await problemsOf({ args: ['--resync', text] })).toEqual([
      `--resync "${text}" is out of range; write a duration from 100ms to 24d`,
    ]);
  });
});

describe('leader election', () => {
  it('is refused where a leader would still try after others may lead', async () => {
    expect(await problemsOf({ args: ['--leader-election-renew-deadline', '15s'] })).toEqual([
      '--leader-election-renew-deadline must be shorter than --leader-election-lease-duration, else two lead at once',
    ]);
  });

  it('is refused where a leader could not try twice', async () => {
    expect(await problemsOf({ args: ['--leader-election-retry-period', '9s'] })).toEqual([
      '--leader-election-retry-period must be much shorter than --leader-election-renew-deadline, as 2s is than 10s',
    ]);
  });

  it.each(['Lease', 'a/b', '-a', 'a..b', 'x'.repeat(254)])('has no Lease named %j', async (name) => {
    const [problem, ...others] = await problemsOf({ args: [`--leader-election-name=${name}`] });
    expect(problem).toMatch(/^--leader-election-name .* is (no name of a Lease|longer than)/);
    expect(others).toEqual([]);
  });
});

describe('the version of a worker', () => {
  it('is that of the program, where none is given', async () => {
    expect((await configOf({ args: ['--worker-deployment', 'op'] })).workerVersion).toEqual({
      deploymentName: 'op',
      buildId: packageJson.version,
    });
  });

  it('may be given', async () => {
    const args = ['--worker-deployment', 'op', '--worker-build-id', 'a1b2c3'];
    expect((await configOf({ args })).workerVersion).toEqual({ deploymentName: 'op', buildId: 'a1b2c3' });
  });

  it('is worth nothing without a deployment', async () => {
    expect(await problemsOf({ args: ['--worker-build-id', 'x'] })).toEqual([
      '--worker-build-id needs a deployment; name one by --worker-deployment',
    ]);
  });

  it('is what promote has to be told', async () => {
    expect(await problemsOf({ args: ['promote'] })).toEqual([
      'promote needs a deployment; name one by --worker-deployment',
    ]);
  });

  it('is promoted as told', async () => {
    const args = ['promote', '--worker-deployment=op', '--wait-for-drain=10m', '--move-open-runs'];
    expect((await configOf({ args })).promote).toEqual({ waitForDrainMs: 600_000, moveOpenRuns: true });
  });

  it.each(['a.b', 'a:b', '__a'])('has no deployment named %s', async (name) => {
    const [problem] = await problemsOf({ args: ['--worker-deployment', name] });
    expect(problem).toMatch(/is no name of a worker deployment/);
  });
});

describe('the keys of payloads', () => {
  it('are read from a file that is there', async () => {
    const file = await aFile('');
    expect((await configOf({ args: ['--payload-keys', file] })).payloadKeys).toBe(file);
    const [problem] = await problemsOf({ args: ['--payload-keys', `${file}-not`] });
    expect(problem).toMatch(/^--payload-keys ".*": .*; name a readable file of keys$/);
  });
});

describe('the origins that the codec server allows', () => {
  it('are origins, nothing more', async () => {
    const args = ['codec-server', '--codec-allow-origin', 'https://ui.example,http://localhost:1'];
    expect((await configOf({ args })).codecServer.allowOrigins).toEqual([
      'https://ui.example',
      'http://localhost:1',
    ]);
  });

  it.each(['*', 'ui.example', 'https://ui.example/', 'https://ui.example/x'])(
    'and %s is none',
    async (text) => {
      const [problem] = await problemsOf({ args: ['codec-server', '--codec-allow-origin', text] });
      expect(problem).toMatch(/which is not an origin/);
    },
  );
});

describe('the health address', () => {
  it.each<[string, Config['healthAddress']]>([
    [':9098', { host: '', port: 9098 }],
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:9098', { host: '::1', port: 9098 }],
    ['0', 'off'],
  ])('%s', async (text, expected) => {
    expect((await configOf({ args: ['--health-addr', text] })).healthAddress).toEqual(expected);
  });

  it('may be the number 0 in a file', async () => {
    expect((await configOf({ file: 'health-addr: 0' })).healthAddress).toBe('off');
  });

  it('of the local stack is on loopback unless told', async () => {
    expect((await configOf({ args: ['local'] })).healthAddress).toEqual({ host: '127.0.0.1', port: 9098 });
    expect((await configOf({ args: ['local', '--health-addr', ':1'] })).healthAddress).toEqual({
      host: '',
      port: 1,
    });
  });

  it.each(['9098', 'localhost', ':65536', ':', 'http://x:1', '::1:9098', 'a b:1'])(
    'is not %j',
    async (text) => {
      expect(await problemsOf({ args: ['--health-addr', text] })).toEqual([
        `--health-addr "${text}" is not an address; write :PORT, HOST:PORT or [IPV6]:PORT, or 0 for none`,
      ]);
    },
  );
});

describe('lists', () => {
  it('ignore spaces, empty entries and repetition', async () => {
    expect((await configOf({ args: ['--namespaces', ' a, b,,a'] })).namespaces).toEqual(['a', 'b']);
  });

  it('may be emptied by a flag and by a file', async () => {
    expect((await configOf({ args: ['--exclude-namespaces='] })).roleBinding.excludeNamespaces).toEqual([]);
    expect((await configOf({ file: 'exclude-namespaces: []' })).roleBinding.excludeNamespaces).toEqual([]);
  });

  it('of controllers keep the order in which controllers are listed', async () => {
    expect(
      (await configOf({ args: ['--controllers', 'namespace-role-binding,pod-label'] })).controllers,
    ).toEqual(CONTROLLERS);
  });
});

describe('a wrong value is told in one line with its source, what is wrong and what to write', () => {
  it.each<[Given, RegExp]>([
    [
      { args: ['--controllers', 'pod-lable'] },
      /^--controllers "pod-lable" names "pod-lable", which is not known \(did you mean pod-label\?\); write one of pod-label, namespace-role-binding$/,
    ],
    [
      { args: ['--controllers='] },
      /^--controllers "" names no controller; write .*pod-label, namespace-role-binding/,
    ],
    [
      { args: ['--namespaces', 'a,B'] },
      /^--namespaces "a,B" names "B", which is not a namespace name; use lower-case/,
    ],
    [{ args: ['--namespaces', 'a'.repeat(64)] }, /which is longer than the 63 characters/],
    [
      { args: ['--exclude-namespaces', 'kube_system'] },
      /^--exclude-namespaces .* names "kube_system", which is not/,
    ],
    [
      { args: ['--log-level', 'warning'] },
      /^--log-level "warning" is not known; write one of trace, debug, info/,
    ],
    [
      { args: ['--log-format', 'JSON'] },
      /^--log-format "JSON" is not known.*; write one of auto, json, pretty$/,
    ],
    [{ args: ['--task-queue', ' '] }, /^--task-queue " " is empty; write a value/],
    [{ args: ['--task-queue', 'q'.repeat(1001)] }, /^--task-queue "q+… is longer than the 1000 characters/],
    [
      { args: ['--task-queue', '/_sys/q'] },
      /begins with \/_sys\/, which Temporal keeps for itself; choose another/,
    ],
    [
      { args: ['--namespace-selector', 'team in dev'] },
      /^--namespace-selector "team in dev" is wrong: label selector, position 9: expected "\(", found "dev"$/,
    ],
    [
      { args: ['--role-binding-cluster-role', 'a/b'] },
      /^--role-binding-cluster-role "a\/b" is no name of a ClusterRole/,
    ],
    [{ args: ['--role-binding-cluster-role', '..'] }, /is no name of a ClusterRole/],
    [{ args: ['--role-binding-cluster-role', '50%'] }, /is no name of a ClusterRole/],
    [{ args: ['--role-binding-cluster-role='] }, /is empty; name a ClusterRole/],
    [
      { args: ['--role-binding-prefix', 'a/'] },
      /^--role-binding-prefix "a\/" cannot begin the name of a RoleBinding/,
    ],
    [{ args: ['--role-binding-prefix', 'p'.repeat(191)] }, /is longer than 190 characters/],
    [{ args: ['--build-image', 'a b'] }, /^--build-image "a b" is no name of an image; write one such as/],
    [{ args: ['--build-image', '-a'] }, /is no name of an image/],
    [{ args: ['--build-host-dir', 'opt'] }, /^--build-host-dir "opt" is not an absolute path/],
    [{ args: ['--build-host-dir', '/'] }, /is not an absolute path/],
    [{ args: ['--build-host-dir', '/a/../b'] }, /is not an absolute path/],
    [{ args: ['--build-host-dir', '/proc/x'] }, /is the kernel's; write another directory, such as \/opt/],
    [{ args: ['--build-deadline', '1ms'] }, /is out of range; write a duration from 1s to 24d$/],
    [
      { args: ['--build-git-transports', 'https,ext'] },
      /names "ext", which is not known.*; write one of https, ssh, http, git$/,
    ],
    [
      { args: ['--build-git-transports='] },
      /names no transport; write one or more of https, ssh, http, git$/,
    ],
    [
      { args: ['--kubeconfig', '/nowhere/config'] },
      /^--kubeconfig "\/nowhere\/config": no such file; name a readable/,
    ],
    [{ args: ['--kubeconfig='] }, /^--kubeconfig "" is empty/],
    [{ env: { KUBECONFIG: '/nowhere/config' } }, /^KUBECONFIG "\/nowhere\/config": no such file/],
    [
      { env: { DURABLE_OPERATOR_RESYNC: 'soon' } },
      /^DURABLE_OPERATOR_RESYNC "soon" is not a duration; write/,
    ],
    [
      { env: { DURABLE_OPERATOR_RUN_OUTSIDE_CLUSTER: 'yes' } },
      /^DURABLE_OPERATOR_RUN_OUTSIDE_CLUSTER "yes" is neither true nor false; write one of them$/,
    ],
    [{ file: 'log-level: info\nresync: 180' }, /^file-\d+:2: resync 180 is not a duration; write/],
    [{ file: 'resync:' }, /^file-\d+:1: resync null is not a duration/],
    [{ file: 'namespaces: {a: b}' }, /^file-\d+:1: namespaces \{"a":"b"\} is not a list; write names/],
    [{ file: 'namespaces: [1]' }, /^file-\d+:1: namespaces \[1\] names 1, which is not a name$/],
    [{ file: 'task-queue: 5' }, /^file-\d+:1: task-queue 5 is not text; write a text, in quotes/],
    [
      { file: 'namespace-selector: 5' },
      /^file-\d+:1: namespace-selector 5 is not a label selector; write for example/,
    ],
  ])('%j', async (given, problem) => {
    const problems = await problemsOf(given);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('and several are told at once, a line each', async () => {
    const problems = await problemsOf({ args: ['--resync', 'x', '--log-level', 'y'], file: 'zzzzz: 1' });
    expect(problems).toEqual([
      expect.stringMatching(/^file-\d+:1: unknown key "zzzzz"/),
      expect.stringMatching(/^--resync/),
      expect.stringMatching(/^--log-level/),
    ]);
  });
});

describe('names that RBAC allows are taken', () => {
  it.each(['edit', 'system:aggregate-to-edit', 'Team.A', 'r'.repeat(253)])('ClusterRole %s', async (name) => {
    const { roleBinding } = await configOf({ args: ['--role-binding-cluster-role', name] });
    expect(roleBinding.clusterRole).toBe(name);
  });

  it.each(['', 'ad:', 'p'.repeat(190)])('prefix %j', async (prefix) => {
    expect((await configOf({ args: [`--role-binding-prefix=${prefix}`] })).roleBinding.prefix).toBe(prefix);
  });
});

describe('a wrong flag is told in one line', () => {
  it.each([
    [['--resnc', '3m'], "unknown option '--resnc' (did you mean --resync?); see durable-operator --help"],
    [['--resync'], "option '--resync <duration>' argument missing; see durable-operator --help"],
    [['--exit-when-converged'], "unknown option '--exit-when-converged'; it belongs to the command local"],
  ])('%j', async (args, problem) => {
    expect(await problemsOf({ args })).toEqual([problem]);
  });
});

describe('a wrong file is told in one line with its name', () => {
  it.each([
    ['resinc: 3m', /^file-\d+:1: unknown key "resinc" \(did you mean resync\?\); correct or remove it$/],
    ['\n\nhealthAddr: x', /^file-\d+:3: unknown key "healthAddr" \(did you mean health-addr\?\)/],
    ['config: x', /^file-\d+:1: unknown key "config"; the keys are kubeconfig, run-outside-cluster, /],
    ['resync: 1m\nresync: 2m', /^file-\d+:2: Map keys must be unique; correct the YAML$/],
    ['resync: [', /^file-\d+:1: .*; correct the YAML$/],
    ['- resync', /^file-\d+:1: not a mapping; write lines such as resync: 3m$/],
    ['text', /^file-\d+:1: not a mapping/],
    ['resync: *nowhere', /^--config "file-\d+": Unresolved alias .*; name a YAML file that can be read$/],
  ])('%j', async (file, problem) => {
    const problems = await problemsOf({ file });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it.each([
    ['/nowhere/x.yaml', 'no such file'],
    ['/', 'it is a directory'],
  ])('%s: %s', async (path, why) => {
    const told = `"${path}": ${why}; name a YAML file that can be read`;
    expect(await problemsOf({ args: ['--config', path] })).toEqual([`--config ${told}`]);
    expect(await problemsOf({ env: { DURABLE_OPERATOR_CONFIG: path } })).toEqual([
      `DURABLE_OPERATOR_CONFIG ${told}`,
    ]);
  });

  it.each(['', '# only a comment', '---\n'])('but %j is a file without options', async (file) => {
    expect((await configOf({ file })).resyncMs).toBe(180_000);
  });
});

describe('KUBECONFIG', () => {
  it('may name several files, of which one must be there', async () => {
    const KUBECONFIG = ['/nowhere/a', await aFile('')].join(delimiter);
    expect((await configOf({ env: { KUBECONFIG } })).cluster.kubeconfig).toBe(KUBECONFIG);
    const nowhere = ['/nowhere/a', '/nowhere/b'].join(delimiter);
    expect(await problemsOf({ env: { KUBECONFIG: nowhere } })).toEqual([
      `KUBECONFIG "${nowhere}": no such file; name a readable kubeconfig`,
    ]);
  });
});

describe('Temporal is configured by its own environment', () => {
  it('address, namespace and API key', async () => {
    const env = { TEMPORAL_ADDRESS: 'cloud:7233', TEMPORAL_NAMESPACE: 'ns', TEMPORAL_API_KEY: 'key' };
    expect((await configOf({ env })).temporal).toMatchObject({
      address: 'cloud:7233',
      namespace: 'ns',
      connect: { namespace: 'ns', connectionOptions: { address: 'cloud:7233', apiKey: 'key', tls: true } },
    });
  });

  it('a profile, over which variables win', async () => {
    const TEMPORAL_CONFIG_FILE = await aFile('[profile.a]\naddress = "a:1"\nnamespace = "from-profile"\n');
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE: 'a', TEMPORAL_ADDRESS: 'b:2' };
    expect((await configOf({ env })).temporal).toMatchObject({ address: 'b:2', namespace: 'from-profile' });
  });

  it('TLS files', async () => {
    const env = {
      TEMPORAL_TLS_CLIENT_CERT_PATH: await aFile('cert'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: await aFile('key'),
      TEMPORAL_TLS_SERVER_NAME: 'server',
    };
    const { connectionOptions } = (await configOf({ env })).temporal.connect;
    expect(connectionOptions.tls).toMatchObject({
      serverNameOverride: 'server',
      clientCertPair: { crt: new Uint8Array(Buffer.from('cert')), key: new Uint8Array(Buffer.from('key')) },
    });
  });

  it('and an empty variable counts as unset', async () => {
    expect((await configOf({ env: { TEMPORAL_ADDRESS: '' } })).temporal.address).toBe('localhost:7233');
  });

  it.each<[Record<string, string>, string]>([
    [
      { TEMPORAL_ADDRESS: 'http://x:1' },
      `Temporal address "http://x:1" is not HOST:PORT; correct TEMPORAL_ADDRESS or the profile's address`,
    ],
    [{ TEMPORAL_TLS: 'yes' }, 'TEMPORAL_TLS "yes" is neither true nor false; write one of them'],
    [
      { TEMPORAL_PROFILE: 'none' },
      "Temporal's configuration: Profile 'none' not found in config data; correct the TEMPORAL_ variables or the profile",
    ],
    [
      { TEMPORAL_CONFIG_FILE: '/nowhere/t' },
      'TEMPORAL_CONFIG_FILE "/nowhere/t": no such file; name a readable file',
    ],
    [
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca' },
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH "/nowhere/ca": no such file; name a readable file',
    ],
    [
      { TEMPORAL_TLS_CLIENT_CERT_DATA: 'cert' },
      'Temporal TLS has only one of client certificate and key; set both, by TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
    ],
  ])('%j is refused', async (env, problem) => {
    expect(await problemsOf({ env })).toEqual([problem]);
  });

  it('and a file that cannot be parsed is told without its text, which may be secret', async () => {
    const TEMPORAL_CONFIG_FILE = await aFile('[profile.default]\napi_key = "s3"cr3t"\n');
    const [problem, ...rest] = await problemsOf({ env: { TEMPORAL_CONFIG_FILE } });
    expect(problem).toMatch(/^Temporal's configuration: line 2: Invalid TOML/);
    expect(problem).not.toContain('cr3t');
    expect(rest).toEqual([]);
  });
});

describe('the local stack starts what nobody gave', () => {
  const local = async (given: Given) => configOf({ ...given, args: ['local', ...(given.args ?? [])] });

  it('Kubernetes is given by a kubeconfig, or by asking for the own one', async () => {
    const KUBECONFIG = await aFile('');
    expect((await local({ env: { KUBECONFIG } })).local.kubernetesGiven).toBe(true);
    expect((await local({ args: ['--kubeconfig', KUBECONFIG] })).local.kubernetesGiven).toBe(true);
    expect((await local({ args: ['--run-outside-cluster'] })).local.kubernetesGiven).toBe(true);
    expect((await local({})).local.kubernetesGiven).toBe(false);
  });

  it('Temporal is given by an address or a profile', async () => {
    const TEMPORAL_CONFIG_FILE = await aFile('[profile.default]\naddress = "a:1"\n');
    expect((await local({ env: { TEMPORAL_CONFIG_FILE } })).local.temporalGiven).toBe(true);
    expect((await local({ env: { TEMPORAL_ADDRESS: 'a:1' } })).local.temporalGiven).toBe(true);
    expect((await local({})).local.temporalGiven).toBe(false);
  });

  it('and sends no credentials of the environment to its own Temporal', async () => {
    const { temporal } = await local({ env: { TEMPORAL_API_KEY: 'key', TEMPORAL_NAMESPACE: 'production' } });
    expect(temporal.connect).toEqual({
      namespace: 'default',
      connectionOptions: { address: 'localhost:7233' },
    });
  });
});

describe('help', () => {
  async function printed(...args: string[]): Promise<string> {
    const result = await parsed({ args });
    expect(result).toMatchObject({ kind: 'exit', code: 0, to: 'stdout' });
    return result.kind === 'exit' ? result.output : '';
  }

  it('lists the commands, and the options under titles with their defaults', async () => {
    const help = await printed('--help');
    expect(help).toMatch(/^Cluster:\n +--kubeconfig <file>/m);
    expect(help).toMatch(/^Controller namespace-role-binding:\n +--namespace-selector/m);
    expect(help).toMatch(/^Commands:\n +run /m);
    expect(help.replaceAll(/\s+/g, ' ')).toContain(
      're-evaluate every known resource this often (default: 3m)',
    );
    expect(help).not.toContain('--no-');
  });

  it.each([[['local', '--help']], [['help', 'local']]])(
    '%j shows its own options and those of all',
    async (args) => {
      const help = await printed(...args);
      expect(help).toMatch(/^Local stack:\n +--dir <directory>/m);
      expect(help).toMatch(/^Operation:\n +--health-addr/m);
    },
  );

  it('of another command shows no options of the local stack', async () => {
    expect(await printed('work', '--help')).not.toContain('Local stack:');
  });

  it.each(['--version', '-V'])('%s prints the version of package.json', async (flag) => {
    expect(await printed(flag)).toBe(`${packageJson.version}\n`);
  });
});
