import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { SERVER_ARGUMENTS } from '../src/local/server-commands.ts';
import { layoutOf } from '../src/local/stack-layout.ts';

const ROOT = join(import.meta.dirname, '..');

const condition = z.enum(['service_started', 'service_healthy', 'service_completed_successfully']);
const duration = z.string().regex(/^\d+(ms|s|m)$/);

/** What we use of https://github.com/compose-spec/compose-spec/blob/main/05-services.md; any other key is a slip. */
const Service = z.strictObject({
  image: z.string().regex(/^[\w./-]+(:v?\d[\w.-]*)?$/),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  privileged: z.boolean().optional(),
  tmpfs: z.array(z.string().startsWith('/')).default([]),
  ports: z.array(z.string().regex(/^([\d.]+:)?\d+:\d+$/)).default([]),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)).default([]),
  healthcheck: z
    .strictObject({
      test: z.tuple([z.enum(['CMD', 'CMD-SHELL']), z.string()], z.string()),
      interval: duration,
      timeout: duration,
      retries: z.int(),
    })
    .optional(),
  stop_grace_period: duration.optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition })).default({}),
});

const Compose = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
});

const { services, volumes } = Compose.parse(parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')));
const everyService = Object.entries(services);
const everyVolume = everyService.flatMap(([, service]) =>
  service.volumes.map((volume) => volume.split(':')[0] ?? ''),
);

describe('docker-compose.yml', () => {
  it('pins the version of every image that is not built here', () => {
    const pulled = everyService.filter(([, { build }]) => build === undefined);
    expect(pulled.map(([, { image }]) => image).filter((image) => !/:v?\d+\.\d+\.\d+/.test(image))).toEqual(
      [],
    );
  });

  it('waits only for services that there are, and for the health only of those that tell it', () => {
    const waits = everyService.flatMap(([, service]) => Object.entries(service.depends_on));
    expect(waits.map(([name]) => name).filter((name) => !(name in services))).toEqual([]);
    const forHealth = waits.filter(([, { condition }]) => condition === 'service_healthy');
    expect(forHealth.map(([name]) => name).filter((name) => !services[name]?.healthcheck)).toEqual([]);
  });

  it('starts the operator after Temporal, Kubernetes and the CRDs, and the samples after the operator', () => {
    expect(Object.keys(services['operator']?.depends_on ?? {})).toEqual(['temporal', 'custom-resources']);
    expect(services['custom-resources']?.depends_on).toEqual({
      kubeconfig: { condition: 'service_completed_successfully' },
    });
    expect(services['kubeconfig']?.depends_on).toEqual({ kubernetes: { condition: 'service_healthy' } });
    expect(services['samples']?.depends_on).toEqual({ operator: { condition: 'service_healthy' } });
  });

  it('mounts volumes that are declared and folders that exist', () => {
    const folders = everyVolume.filter((source) => source.startsWith('.'));
    expect(folders.filter((folder) => !existsSync(join(ROOT, folder)))).toEqual([]);
    const named = everyVolume.filter((source) => !source.startsWith('.'));
    expect([...new Set(named)].sort()).toEqual(Object.keys(volumes).sort());
  });

  it('publishes ports on loopback only', () => {
    const ports = everyService.flatMap(([, service]) => service.ports);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('builds the operator from a Dockerfile that is there', () => {
    const { context = '', dockerfile = '' } = services['operator']?.build ?? {};
    expect(existsSync(join(ROOT, context, dockerfile))).toBe(true);
  });

  it('tunes Temporal as the local stack does', () => {
    const tuned = (services['temporal']?.command ?? [])
      .filter((argument) => argument.startsWith('--dynamic-config-value='))
      .map((argument) => argument.replace('--dynamic-config-value=', ''));
    expect(tuned.sort()).toEqual(tuningOfTheLocalStack().sort());
  });
});

function tuningOfTheLocalStack(): string[] {
  const ports = { apiServer: 1, etcdClient: 2, etcdPeer: 3, temporal: 4, temporalUi: 5, temporalMetrics: 6 };
  const args = SERVER_ARGUMENTS.temporal({ layout: layoutOf('/stack'), ports, audit: false });
  return args.filter((_, index) => args[index - 1] === '--dynamic-config-value');
}
