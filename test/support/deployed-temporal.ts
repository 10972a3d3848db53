import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { freePort } from '../../local/ports.ts';

/*
 * Temporal's server as it is deployed, in place of the development server of the local stack, whose arguments it takes:
 * `TEST_TEMPORAL=deployed npm run test:integration`. It has no UI.
 */

export interface StandIn {
  /** Its path. */
  readonly program: string;
  /** To be called once the server has ended, which may be started anew until then. */
  readonly remove: () => Promise<void>;
}

/** Makes the program that stands in for `temporal`, in a folder of its own: that of a stack is empty before it starts. */
export async function standIn(server: string): Promise<StandIn> {
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-temporal-'));
  const program = join(dir, 'deployed-temporal');
  const words = [process.execPath, import.meta.filename, server].map((word) => `'${word}'`);
  await writeFile(program, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  await chmod(program, 0o755);
  return { program, remove: () => rm(dir, { recursive: true }) };
}

/** What it is told, as `temporal server start-dev` is. */
const Told = z.object({
  ip: z.string(),
  port: z.coerce.number(),
  'metrics-port': z.coerce.number(),
  'db-filename': z.string(),
  'log-level': z.string(),
  'sqlite-pragma': z.array(z.string()),
  'dynamic-config-value': z.array(z.string()),
});
type Told = z.infer<typeof Told>;

function told(args: string[]): Told {
  const one = { type: 'string' } as const;
  const several = { type: 'string', multiple: true } as const;
  const { values } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ ip: one, 'ui-ip': one, port: one, 'ui-port': one, 'metrics-port': one, 'db-filename': one },
      ...{ 'log-level': one, 'sqlite-pragma': several, 'dynamic-config-value': several },
    },
  });
  return Told.parse(values);
}

/** A file needs no address, but the server insists. */
const SQLITE = { pluginName: 'sqlite', connectAddr: 'localhost', connectProtocol: 'tcp' } as const;

/** Source: temporal/config/development-sqlite-file.yaml of the server. */
async function configOf(given: Told, dynamicConfig: string): Promise<object> {
  const { ip, port, 'metrics-port': metricsPort, 'db-filename': file, 'sqlite-pragma': pragmas } = given;
  const service = async (grpcPort: number) => ({
    rpc: { grpcPort, membershipPort: await freePort(), bindOnIP: ip },
  });
  const connectAttributes = { mode: 'rwc', setup: 'true', ...Object.fromEntries(pragmas.map(twoOf)) };
  const disabled = { history: { state: 'disabled' }, visibility: { state: 'disabled' } };
  return {
    log: { stdout: true, level: given['log-level'] },
    persistence: {
      ...{ defaultStore: 'sqlite', visibilityStore: 'sqlite', numHistoryShards: 1 },
      datastores: { sqlite: { sql: { ...SQLITE, databaseName: file, connectAttributes } } },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: ip },
      metrics: { prometheus: { listenAddress: `${ip}:${metricsPort}`, timerType: 'histogram' } },
    },
    services: {
      frontend: await service(port),
      history: await service(await freePort()),
      matching: await service(await freePort()),
      worker: await service(await freePort()),
    },
    clusterMetadata: {
      ...{ failoverVersionIncrement: 10, masterClusterName: 'active', currentClusterName: 'active' },
      clusterInformation: {
        active: {
          ...{ enabled: true, initialFailoverVersion: 1 },
          ...{ rpcName: 'frontend', rpcAddress: `${ip}:${port}` },
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    archival: disabled,
    namespaceDefaults: { archival: disabled },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  };
}

/** Those of the command line, as a file has them; and what the development server sets besides. */
function dynamicConfigOf({ 'dynamic-config-value': values }: Told): object {
  const given = values.map(twoOf).map(([key, value]): [string, unknown] => [key, JSON.parse(value)]);
  const all: Record<string, unknown> = {
    'frontend.namespaceRPS.visibility': 100,
    'system.forceSearchAttributesCacheRefreshOnRead': true,
    'frontend.WorkflowPauseEnabled': true,
    'frontend.persistenceMaxQPS': 10_000,
    'history.persistenceMaxQPS': 45_000,
    ...Object.fromEntries(given),
  };
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, [{ value }]]));
}

function twoOf(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

async function main([server = '', ...args]: string[]): Promise<void> {
  const given = told(args);
  const dir = dirname(given['db-filename']);
  const [config, dynamicConfig] = [join(dir, 'temporal.yaml'), join(dir, 'temporal-dynamic-config.yaml')];
  await writeFile(dynamicConfig, JSON.stringify(dynamicConfigOf(given)));
  await writeFile(config, JSON.stringify(await configOf(given, dynamicConfig)));
  // In place of this process: whoever started it knows its number.
  process.execve?.(server, [server, '--config-file', config, '--allow-no-auth', 'start']);
}

if (import.meta.main) await main(process.argv.slice(2));
