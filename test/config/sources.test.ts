import { describe, expect, it } from '@jest/globals';
import { optionTable } from '../../src/config/option-table.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { aFile, configOf, problemsOf, SAMPLES, type Given } from '../support/configs.ts';

describe('without anything given', () => {
  it('the program runs watcher and worker, with the defaults that people know', async () => {
    expect(await configOf({})).toEqual({
      command: 'run',
      cluster: { runOutsideCluster: false, credentialsTimeoutMs: 30_000 },
      temporal: {
        address: 'localhost:7233',
        namespace: 'default',
        connect: { namespace: 'default', connectionOptions: { address: 'localhost:7233' } },
      },
      reconciliation: {
        controllers: durableOperator.controllers.map(({ name }) => name),
        namespaces: [],
        resyncMs: 180_000,
        areApproversChecked: false,
        minPollIntervalMs: 60_000,
      },
      health: { address: { host: '', port: 9098 } },
      log: { level: 'info', format: 'auto' },
      metrics: { address: { host: '', port: 9097 }, secure: false },
      worker: { taskQueue: 'durable-operator' },
      encryption: {},
      load: { workflowSlots: 40, activitySlots: 100, startsInFlight: 10 },
      temporalServer: { registersSearchAttributes: true },
      temporalUi: {},
      leaderElection: {
        enabled: false,
        name: 'durable-operator',
        leaseDurationMs: 15_000,
        renewDeadlineMs: 10_000,
        retryPeriodMs: 2_000,
      },
      codecServer: { address: { host: '127.0.0.1', port: 9096 }, allowOrigins: ['http://localhost:8233'] },
      'controller namespace-role-binding': {
        roleBindingClusterRole: 'edit',
        roleBindingPrefix: 'ad-kubernetes-',
        namespaceSelector: [],
        excludeNamespaces: ['kube-system', 'kube-public', 'kube-node-lease'],
      },
      'controller git-build': {
        buildImage: 'golang:1.13',
        buildHostDir: '/opt',
        buildDeadline: 3_600_000,
        buildGitTransports: ['https', 'ssh'],
      },
      generate: {
        check: false,
        image: 'durable-operator',
        crds: false,
        allowNewRights: false,
        allowBreakingChanges: false,
      },
      dev: {
        ...{ samples: 'samples', exitWhenConverged: false, inspect: false },
        ...{ kubernetesGiven: false, temporalGiven: false },
      },
    });
  });
});

describe('commands', () => {
  it.each([[['watch', '--resync', '1m']], [['--resync=1m', 'watch']]])(
    'take options before and after them: %j',
    async (args) => {
      expect(await configOf({ args })).toMatchObject({
        command: 'watch',
        reconciliation: { resyncMs: 60_000 },
      });
    },
  );
});

describe('flags win over environment, environment over the file, the file over defaults', () => {
  const flag = { args: ['--resync', '1s'] };
  const env = { env: { DURABLE_OPERATOR_RESYNC: '2s' } };
  const file = { file: 'resync: 3s' };

  it.each<[Given, resyncMs: number]>([
    [{ ...flag, ...env, ...file }, 1000],
    [{ ...env, ...file }, 2000],
    [file, 3000],
    // Templates leave empty variables behind.
    [{ env: { DURABLE_OPERATOR_RESYNC: '' }, ...file }, 3000],
  ])('%j', async (given, resyncMs) => {
    expect((await configOf(given)).reconciliation.resyncMs).toBe(resyncMs);
  });

  it('and our variable over the one of the Worker Controller', async () => {
    const theirs = { TEMPORAL_DEPLOYMENT_NAME: 'op/system', TEMPORAL_WORKER_BUILD_ID: 'b1' };
    expect((await configOf({ env: theirs })).worker).toMatchObject({
      deploymentName: 'op/system',
      buildId: 'b1',
    });
    const ours = { DURABLE_OPERATOR_WORKER_BUILD_ID: 'b2' };
    expect((await configOf({ env: { ...theirs, ...ours } })).worker.buildId).toBe('b2');
  });
});

describe('every option is read from each source', () => {
  const { rows } = optionTable(durableOperator);

  it('so there is a sample of every one', () => {
    expect(SAMPLES.map(({ name }) => name).sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it.each(SAMPLES)('--$name', async ({ name, text, yaml, expected }) => {
    const command = rows.find((row) => row.name === name)?.onlyFor ?? 'run';
    const needsDeployment = name === 'worker-build-id';
    const args = [command, ...(needsDeployment ? ['--worker-deployment=op'] : [])];
    const variable = `DURABLE_OPERATOR_${name.toUpperCase().replaceAll('-', '_')}`;
    expect(await configOf({ args: [...args, `--${name}=${text}`] })).toMatchObject(expected);
    expect(await configOf({ args, env: { [variable]: text } })).toMatchObject(expected);
    expect(await configOf({ args, file: `${name}: ${yaml}` })).toMatchObject(expected);
    expect(await configOf({ args })).not.toMatchObject(expected);
  });
});

describe('a wrong flag is reported in one line', () => {
  it.each([
    [['--resnc', '3m'], "unknown option '--resnc' (did you mean --resync?); see durable-operator --help"],
    [['--resync'], "option '--resync <duration>' argument missing; see durable-operator --help"],
    [
      ['--metrics-secure=\r\n\u202eon'],
      "unknown option '--metrics-secure=\\u{d}\\u{a}\\u{202e}on'; see durable-operator --help",
    ],
    [['wo\nrk'], expect.stringMatching(/^"wo\\u{a}rk" is neither an option nor a command/)],
    [['--exit-when-converged'], "unknown option '--exit-when-converged'; it belongs to the command dev"],
  ])('%j', async (args, problem) => {
    expect(await problemsOf({ args })).toEqual([problem]);
  });
});

describe('a wrong file is reported in one line with its name', () => {
  it.each([
    [
      '\n\nhealthAddr: x',
      /^file-\d+:3: unknown key "healthAddr"; the keys are kubeconfig, run-outside-cluster, /,
    ],
    ['config: x', /^file-\d+:1: unknown key "config"; the keys are kubeconfig, run-outside-cluster, /],
    ['resync: [', /^file-\d+:1: .*; correct the YAML$/],
    ['- resync', /^file-\d+:1: not a mapping; write lines such as resync: 3m$/],
    [
      'resync: *nowhere',
      /^--config "file-\d+" cannot be read: Unresolved alias .*; specify a readable YAML file$/,
    ],
  ])('%j', async (file, problem) => {
    const problems = await problemsOf({ file });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('or of its variable', async () => {
    const path = '/nowhere/x.yaml';
    const problem = `"${path}" cannot be read: no such file or directory; specify a readable YAML file`;
    expect(await problemsOf({ args: ['--config', path] })).toEqual([`--config ${problem}`]);
    expect(await problemsOf({ env: { DURABLE_OPERATOR_CONFIG: path } })).toEqual([
      `DURABLE_OPERATOR_CONFIG ${problem}`,
    ]);
  });
});

describe('the local stack starts what is not given', () => {
  const dev = async (given: Given) => configOf({ ...given, args: ['dev', ...(given.args ?? [])] });

  it('Kubernetes is given by a kubeconfig, or by asking for the own one', async () => {
    const KUBECONFIG = aFile('');
    expect((await dev({ env: { KUBECONFIG } })).dev.kubernetesGiven).toBe(true);
    expect((await dev({ args: ['--kubeconfig', KUBECONFIG] })).dev.kubernetesGiven).toBe(true);
    expect((await dev({ args: ['--run-outside-cluster'] })).dev.kubernetesGiven).toBe(true);
    expect((await dev({})).dev.kubernetesGiven).toBe(false);
  });

  it('Temporal is given by an address or a profile', async () => {
    const TEMPORAL_CONFIG_FILE = aFile('[profile.default]\naddress = "a:1"\n');
    expect((await dev({ env: { TEMPORAL_CONFIG_FILE } })).dev.temporalGiven).toBe(true);
    expect((await dev({ env: { TEMPORAL_ADDRESS: 'a:1' } })).dev.temporalGiven).toBe(true);
    expect((await dev({})).dev.temporalGiven).toBe(false);
  });

  it('and sends no credentials of the environment to its own Temporal', async () => {
    const { temporal } = await dev({ env: { TEMPORAL_API_KEY: 'key', TEMPORAL_NAMESPACE: 'production' } });
    expect(temporal.connect).toEqual({
      namespace: 'default',
      connectionOptions: { address: 'localhost:7233' },
    });
  });
});
