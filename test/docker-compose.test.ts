import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { SERVER_ARGUMENTS } from '../local/server-commands.ts';
import { layoutOf } from '../local/stack-folder.ts';

/* CI starts the services and waits until the samples have converged. These rules would not show there. */

const Compose = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      ports: z.array(z.string()).default([]),
      read_only: z.boolean().default(false),
      cap_drop: z.array(z.string()).default([]),
    }),
  ),
  configs: z.record(z.string(), z.object({ content: z.string() })),
});
const text = readFileSync(join(import.meta.dirname, '../docker-compose.yml'), 'utf8');
const { services, configs } = Compose.parse(parse(text, { merge: true }));

describe('docker-compose.yml', () => {
  it('opens ports on loopback only, each named by a variable', () => {
    const ports = Object.values(services).flatMap((service) => service.ports);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !/^127\.0\.0\.1:\$\{PORT_[A-Z_]+:-\d+\}:\d+$/.test(port))).toEqual([]);
  });

  it('runs the operator as a restricted Pod does', () => {
    expect(services['operator']).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('tunes Temporal as the local stack does', () => {
    const Setting = z.tuple([z.object({ value: z.union([z.boolean(), z.number()]) })]);
    const settings = z
      .record(z.string(), Setting)
      .parse(parse(configs['temporal-dynamic-config']?.content ?? ''));
    const tuned = Object.entries(settings).map(([key, [{ value }]]) => `${key}=${String(value)}`);
    expect(tuned.sort()).toEqual(tuningOfTheLocalStack().sort());
  });
});

function tuningOfTheLocalStack(): string[] {
  const ports = { apiServer: 1, etcdClient: 2, etcdPeer: 3, temporal: 4, temporalUi: 5, temporalMetrics: 6 };
  const args = SERVER_ARGUMENTS.temporal({ layout: layoutOf('/stack'), ports, audit: false });
  return args.filter((_, index) => args[index - 1] === '--dynamic-config-value');
}
