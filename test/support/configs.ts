import { afterAll, expect } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig, type Config, type Parsed } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const directory = mkdtempSync(join(tmpdir(), 'durable-operator-config-'));
afterAll(() => rmSync(directory, { recursive: true }));

let written = 0;

export function aFile(text: string): string {
  written += 1;
  const path = join(directory, `file-${written}`);
  writeFileSync(path, text);
  return path;
}

/** @param files their texts, by their names */
export function aFolder(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(directory, 'folder-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

export interface Sample {
  readonly name: string;
  readonly text: string;
  readonly yaml: string;
  /** What follows for the config. */
  readonly expected: object;
}

const KUBECONFIG = aFile('');
const KEYS = aFile('');

/** A value of every option, none of them its default. */
export const SAMPLES: readonly Sample[] = [
  sample('kubeconfig', KUBECONFIG, { cluster: { kubeconfig: KUBECONFIG } }),
  sample('run-outside-cluster', 'true', { cluster: { runOutsideCluster: true } }),
  sample('credentials-timeout', '2m', { cluster: { credentialsTimeoutMs: 120_000 } }),
  sample('cluster-name', 'prod-1', { cluster: { name: 'prod-1' } }),
  sample('controllers', 'pod-label', { reconciliation: { controllers: ['pod-label'] } }, '[pod-label]'),
  sample('namespaces', 'a,b', { reconciliation: { namespaces: ['a', 'b'] } }, '[a, b]'),
  sample('resync', '90s', { reconciliation: { resyncMs: 90_000 } }),
  sample('min-poll-interval', '5m', { reconciliation: { minPollIntervalMs: 300_000 } }),
  sample('require-approval-over', '20', { reconciliation: { requireApprovalOver: 20 } }),
  sample('approvers-checked', 'true', { reconciliation: { areApproversChecked: true } }),
  sample('namespace-selector', 'a=b', {
    'controller namespace-role-binding': {
      namespaceSelector: [{ key: 'a', operator: 'in', values: ['b'] }],
    },
  }),
  sample(
    'exclude-namespaces',
    'x',
    { 'controller namespace-role-binding': { excludeNamespaces: ['x'] } },
    '[x]',
  ),
  sample('role-binding-cluster-role', 'view', {
    'controller namespace-role-binding': { roleBindingClusterRole: 'view' },
  }),
  sample('role-binding-prefix', 'g-', { 'controller namespace-role-binding': { roleBindingPrefix: 'g-' } }),
  sample('build-image', 'go:2', { 'controller git-build': { buildImage: 'go:2' } }),
  sample('build-host-dir', '/srv', { 'controller git-build': { buildHostDir: '/srv' } }),
  sample('build-deadline', '2m', { 'controller git-build': { buildDeadline: 120_000 } }),
  sample(
    'build-git-transports',
    'http',
    { 'controller git-build': { buildGitTransports: ['http'] } },
    '[http]',
  ),
  sample('health-addr', '[::1]:1', { health: { address: { host: '::1', port: 1 } } }, '"[::1]:1"'),
  sample('log-level', 'debug', { log: { level: 'debug' } }),
  sample('log-format', 'pretty', { log: { format: 'pretty' } }),
  sample('enable-leader-election', 'true', { leaderElection: { enabled: true } }),
  sample('leader-election-namespace', 'ns', { leaderElection: { namespace: 'ns' } }),
  sample('leader-election-name', 'n.x', { leaderElection: { name: 'n.x' } }),
  sample('leader-election-lease-duration', '20s', { leaderElection: { leaseDurationMs: 20_000 } }),
  sample('leader-election-renew-deadline', '9s', { leaderElection: { renewDeadlineMs: 9_000 } }),
  sample('leader-election-retry-period', '1s', { leaderElection: { retryPeriodMs: 1_000 } }),
  sample('metrics-addr', '0', { metrics: { address: 'off' } }),
  sample('metrics-secure', 'true', { metrics: { secure: true } }),
  sample('metrics-cert-dir', '/certs', { metrics: { certDir: '/certs' } }),
  sample('task-queue', 'q', { worker: { taskQueue: 'q' } }),
  sample('workflow-slots', '30', { load: { workflowSlots: 30 } }),
  sample('activity-slots', '7', { load: { activitySlots: 7 } }),
  sample('starts-in-flight', '3', { load: { startsInFlight: 3 } }),
  sample('register-search-attributes', 'false', { temporalServer: { registersSearchAttributes: false } }),
  sample('temporal-ui-url', 'https://ui.example/temporal', {
    temporalUi: { url: 'https://ui.example/temporal' },
  }),
  sample('worker-deployment', 'op', { worker: { deploymentName: 'op' } }),
  sample('worker-build-id', 'b1', { worker: { buildId: 'b1' } }),
  sample('payload-keys', KEYS, { encryption: { keysFile: KEYS } }),
  sample('codec-addr', ':1', { codecServer: { address: { host: '', port: 1 } } }),
  sample(
    'codec-allow-origin',
    'http://x:1',
    { codecServer: { allowOrigins: ['http://x:1'] } },
    '["http://x:1"]',
  ),
  sample('dir', '/d', { dev: { dir: '/d' } }),
  sample('samples', 'examples', { dev: { samples: 'examples' } }),
  sample('crds', 'true', { generate: { crds: true } }),
  sample('check', 'true', { generate: { check: true } }),
  sample('image-repository', 'registry.example.com/shop', {
    generate: { image: 'registry.example.com/shop' },
  }),
  sample('allow-new-rights', 'true', { generate: { allowNewRights: true } }),
  sample('allow-breaking-changes', 'true', { generate: { allowBreakingChanges: true } }),
  sample('exit-when-converged', 'true', { dev: { exitWhenConverged: true } }),
  sample('inspect', 'true', { dev: { inspect: true } }),
];

function sample(name: string, text: string, expected: object, yaml = text): Sample {
  return { name, text, expected, yaml };
}

/** What somebody gives to the program: words of the command line, variables, a file. */
export interface Given {
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly file?: string;
}

export async function parsed({ args = [], env = {}, file }: Given): Promise<Parsed> {
  const named = file === undefined ? [] : ['--config', aFile(file)];
  // The person who runs the tests may have a profile of their own.
  return parseConfig(durableOperator, [...args, ...named], { XDG_CONFIG_HOME: directory, ...env });
}

export async function configOf(given: Given): Promise<Config> {
  const result = await parsed(given);
  if (result.kind !== 'config') throw new Error(`refused: ${result.output}`);
  return result.config;
}

/** The lines of a refusal, without what each begins with. */
export async function problemsOf(given: Given): Promise<string[]> {
  const result = await parsed(given);
  expect(result).toMatchObject({ kind: 'exit', code: 2, to: 'stderr' });
  const output = result.kind === 'exit' ? result.output : '';
  expect(output).toMatch(/^(durable-operator: .*\n)+$/);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.replace('durable-operator: ', '').replaceAll(`${directory}/`, ''));
}
