import { describe, expect, it } from '@jest/globals';
import { operatorArguments } from '../../local/operator.ts';
import { durableOperator } from '../../src/durable-operator.ts';
import { configOf } from '../support/configs.ts';

const GIVEN = { program: durableOperator, healthPort: 1, metricsPort: 2 };

describe('the operator that local starts', () => {
  it('has the options of local, but listens where local says and logs in JSON', async () => {
    const args = ['--namespaces=one,two', '--metrics-secure', '--health-addr=:8', '--metrics-addr=:9'];
    const config = await configOf({ args: ['dev', ...args, '--log-format=pretty', '--log-level=debug'] });
    const started = await configOf({ args: operatorArguments({ config, ...GIVEN }) });
    expect(started).toMatchObject({
      command: 'run',
      reconciliation: config.reconciliation,
      health: { address: { host: '127.0.0.1', port: 1 } },
      metrics: { address: { host: '127.0.0.1', port: 2 }, secure: true },
      log: { level: 'debug', format: 'json' },
    });
  });

  it('has no metrics where local has none', async () => {
    const config = await configOf({ args: ['dev'] });
    const started = operatorArguments({ config, ...GIVEN, metricsPort: undefined });
    expect((await configOf({ args: started })).metrics.address).toBe('off');
  });
});
