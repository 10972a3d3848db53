import { describe, expect, it } from '@jest/globals';
import { operatorArguments } from '../../local/operator.ts';
import { configOf } from '../support/configs.ts';

const PORTS = { healthPort: 1, metricsPort: 2 };
const LOCAL_ADDRESSES = {
  health: { address: { host: '127.0.0.1', port: 1 } },
  metrics: { address: { host: '127.0.0.1', port: 2 } },
};

describe('the operator that local starts', () => {
  it('has the options that local was given', async () => {
    const args = ['--namespaces=one,two', '--namespace-selector=team in (a,b)', '--resync=7m', '--tracing'];
    const config = await configOf({ args: ['local', ...args, '--log-level=debug'] });
    const started = await configOf({ args: operatorArguments({ config, ...PORTS }) });
    expect(started).toMatchObject({
      ...LOCAL_ADDRESSES,
      command: 'run',
      cluster: config.cluster,
      reconciliation: config.reconciliation,
      roleBinding: config.roleBinding,
      tracing: { enabled: true },
    });
  });

  it('listens where local says and logs in JSON, whatever local was given', async () => {
    const args = [
      'local',
      '--health-addr=:8',
      '--metrics-addr=:9',
      '--log-format=pretty',
      '--log-level=debug',
    ];
    const config = await configOf({ args });
    const started = await configOf({ args: operatorArguments({ config, ...PORTS }) });
    expect(started).toMatchObject({ ...LOCAL_ADDRESSES, log: { level: 'debug', format: 'json' } });
  });

  it('has no metrics where local has none', async () => {
    const config = await configOf({ args: ['local'] });
    const started = operatorArguments({ config, healthPort: 1, metricsPort: undefined });
    expect((await configOf({ args: started })).metrics.address).toBe('off');
  });

  it('has the defaults where local was given nothing', async () => {
    const config = await configOf({ args: ['local'] });
    const started = await configOf({ args: operatorArguments({ config, ...PORTS }) });
    const usual = await configOf({});
    const metrics = { ...usual.metrics, ...LOCAL_ADDRESSES.metrics };
    expect(started).toEqual({
      ...usual,
      ...LOCAL_ADDRESSES,
      metrics,
      log: { level: 'info', format: 'json' },
    });
  });
});
