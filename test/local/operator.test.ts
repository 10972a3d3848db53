import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { operatorArguments, StackOperator } from '../../local/operator.ts';
import type { WhenEnded } from '../../local/servers.ts';
import type { Stack } from '../../local/stack.ts';
import { eventually } from '../../testing/eventually.ts';
import { defineController } from '../../src/api/controller.ts';
import { parseConfig } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import type { Program } from '../../src/program/program.ts';
import { Bucket } from '../support/bucket.ts';
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

  it('takes up a controller that is added meanwhile, and does without one that is removed', async () => {
    const [one, other, more] = ['one', 'other', 'more'].map((name) => {
      const options = z.object({ [`${name}Region`]: z.string().default('here') });
      const definition = { name, for: Bucket, options, observe: () => Promise.resolve({}) };
      return defineController({ ...definition, decide: (_, next) => next.converged('') });
    });
    if (one === undefined || other === undefined || more === undefined) throw new Error('there are three');
    const shop = (...controllers: Program['controllers']): Program => ({ name: 'shop', controllers });
    const parsedBy = async (program: Program, args: readonly string[]) => {
      const parsed = await parseConfig(program, args, {});
      if (parsed.kind !== 'config') throw new Error(parsed.output);
      return parsed.config;
    };
    const program = shop(one, other);
    const chosenBy = async (changed: Program, ...args: readonly string[]) => {
      const config = await parsedBy(program, ['dev', ...args]);
      return parsedBy(changed, operatorArguments({ ...GIVEN, program, config }));
    };
    expect((await chosenBy(shop(one))).reconciliation.controllers).toEqual(['one']);
    const all = ['one', 'other', 'more'];
    expect((await chosenBy(shop(one, other, more))).reconciliation.controllers).toEqual(all);
    const chosen = await chosenBy(shop(one, other, more), '--controllers=one', '--one-region=there');
    expect(chosen.reconciliation.controllers).toEqual(['one']);
    expect(JSON.stringify(chosen)).toContain('"there"');
  });

  it('has no metrics where local has none', async () => {
    const config = await configOf({ args: ['dev'] });
    const started = operatorArguments({ config, ...GIVEN, metricsPort: undefined });
    expect((await configOf({ args: started })).metrics.address).toBe('off');
  });
});

describe('an operator that somebody kills', () => {
  let health: Server;
  let isReady: boolean;

  beforeEach(async () => {
    isReady = false;
    health = createServer((_, response) => response.writeHead(isReady ? 200 : 503).end()).listen(
      0,
      '127.0.0.1',
    );
    await once(health, 'listening');
  });

  afterEach(() => {
    health.closeAllConnections();
    health.close();
  });

  function anOperator() {
    const starts: WhenEnded[] = [];
    const said: string[] = [];
    const stack = {
      startCompanion: (_: unknown, whenEnded: WhenEnded) => starts.push(whenEnded),
      stopServer: () => Promise.resolve(),
      logOf: () => '/dev/null',
    } as unknown as Stack;
    const { port } = health.address() as AddressInfo;
    const launch = { program: 'main.ts', args: [], env: {}, healthPort: port };
    const stopped = new AbortController();
    const operator = new StackOperator({
      ...{ stack, launch, signal: stopped.signal },
      say: (line) => said.push(line),
    });
    return { operator, starts, said };
  }

  it('is started again each time, also before it is ready, and says how often', async () => {
    const { operator, starts, said } = anOperator();
    const started = operator.start();
    starts[0]?.('SIGKILL');
    await eventually(() => Promise.resolve(starts.length === 2), 10_000);
    starts[1]?.('SIGTERM');
    await eventually(() => Promise.resolve(starts.length === 3), 10_000);
    isReady = true;
    await started;
    starts[2]?.('SIGKILL');
    await eventually(() => Promise.resolve(starts.length === 4), 10_000);
    expect(said).toEqual([
      'the operator ended before it was ready; starting it again in 1 s',
      'the operator ended before it was ready, 2 times in a row; starting it again in 2 s',
      'the operator ended; starting it again, as a Deployment would',
    ]);
  });

  it('is started once where a file changes meanwhile', async () => {
    const { operator, starts, said } = anOperator();
    const first = expect(operator.start()).rejects.toThrow('the operator is being started anew');
    starts[0]?.('SIGKILL');
    await eventually(() => Promise.resolve(said.length === 1), 10_000);
    isReady = true;
    expect(await operator.restart()).toBe(true);
    await first;
    expect(starts).toHaveLength(2);
  });

  it('is not started again after a failure of its own', async () => {
    const { operator, starts } = anOperator();
    const started = operator.start();
    starts[0]?.('exit code 1');
    await expect(started).rejects.toThrow('operator ended (exit code 1)');
    expect(starts).toHaveLength(1);
  });
});
