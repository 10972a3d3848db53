import { describe, expect, it } from '@jest/globals';
import { parseConfig, type Config } from '../../src/config.ts';
import { CONTROLLER_NAMES } from '../../src/controllers/index.ts';
import { operatorArguments } from '../../src/local/operator-process.ts';

async function configOf(args: readonly string[]): Promise<Config> {
  const parsed = await parseConfig(args, {}, CONTROLLER_NAMES);
  if (parsed.kind === 'exit') throw new Error(parsed.output);
  return parsed.config;
}

/** Without what `local` keeps to itself or decides by itself. */
function forTheOperator({ log, metrics, ...config }: Config) {
  const kept = { command: 'any', local: 'any', healthAddress: 'any', logLevel: log.level };
  return { ...config, ...kept, metrics: { ...metrics, address: 'any' } };
}

describe('the operator that local starts', () => {
  it('is told everything that local was told about it', async () => {
    const told = await configOf([
      'local',
      ...['--controllers', 'pod-label', '--namespaces', 'one,two', '--resync', '7m', '--task-queue', 'other'],
      ...['--namespace-selector', 'team in (a, b)', '--exclude-namespaces', 'three', '--log-level', 'debug'],
      ...['--role-binding-cluster-role', 'view', '--role-binding-prefix', 'ad-'],
      ...['--build-image', 'golang:1.26', '--build-host-dir', '/srv', '--build-deadline', '20m'],
      ...['--build-git-transports', 'https'],
      ...[
        '--enable-leader-election',
        '--leader-election-namespace',
        'system',
        '--leader-election-name',
        'op',
      ],
      ...['--leader-election-lease-duration', '20s', '--leader-election-renew-deadline', '9s'],
      ...['--leader-election-retry-period', '3s', '--metrics-secure', '--metrics-cert-dir', '/certs'],
      ...['--tracing', '--worker-deployment', 'op', '--worker-build-id', 'b1'],
    ]);
    const passedOn = await configOf(operatorArguments(told));
    expect(passedOn.command).toBe('run');
    expect(forTheOperator(passedOn)).toEqual(forTheOperator(told));
  });

  it('has the defaults where local was told nothing', async () => {
    const passedOn = await configOf(operatorArguments(await configOf(['local'])));
    expect(forTheOperator(passedOn)).toEqual(forTheOperator(await configOf(['run'])));
  });
});
