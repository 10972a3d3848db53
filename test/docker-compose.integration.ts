import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildPrograms } from '../local/build.ts';
import { SERVER_ARGUMENTS } from '../local/server-commands.ts';
import { layoutOf } from '../local/stack-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const BASE = 'docker-compose.yml';
const OWN_CLUSTER = 'docker-compose.own-cluster.yml';
const BUILD_TIMEOUT_MS = 600_000;

const run = promisify(execFile);

/** After a merge, the parser gives a mapping as a list of `KEY=value`. */
const Environment = z.union([
  z.record(z.string(), z.string()),
  z.array(z.string()).transform((lines) => Object.fromEntries(lines.map((line) => twoOf(line, '=')))),
]);

const Service = z.object({
  image: z.string(),
  pull_policy: z.string().optional(),
  build: z
    .object({
      context: z.string(),
      dockerfile: z.string(),
      args: z.record(z.string(), z.string().nullable()),
    })
    .optional(),
  user: z.string().optional(),
  command: z.array(z.string()).nullish(),
  entrypoint: z.array(z.string()).nullish(),
  environment: Environment.default({}),
  network_mode: z.string().optional(),
  profiles: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  ports: z.array(z.object({ host_ip: z.string().optional(), published: z.string() })).default([]),
  volumes: z
    .array(
      z.object({
        type: z.enum(['bind', 'volume']),
        source: z.string(),
        target: z.string(),
        read_only: z.boolean().default(false),
        bind: z.object({ create_host_path: z.boolean() }).optional(),
      }),
    )
    .default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
});
type Service = z.infer<typeof Service>;

const Project = z.object({
  services: z.record(z.string(), Service),
  configs: z.record(z.string(), z.object({ content: z.string() })),
});
type Project = z.infer<typeof Project>;

/** The file as it is written, its variables not filled in. */
const Written = z.object({
  services: z.record(
    z.string(),
    z.object({
      ports: z.array(z.string()).default([]),
      build: z.object({ args: z.record(z.string(), z.string().nullable()) }).optional(),
    }),
  ),
});

let parser: string;

/** The program of the compose specification's own Go library: it checks, merges and fills in. */
async function parsed(...files: readonly string[]): Promise<Project> {
  const { stdout } = await run(parser, ['-format=json', ...files], { cwd: ROOT, env: { HOME: '/home/me' } });
  return Project.parse(JSON.parse(stdout));
}

beforeAll(async () => {
  const programs = await buildPrograms(['compose-spec'], {});
  parser = programs['compose-spec'];
}, BUILD_TIMEOUT_MS);

describe('the parser of the compose specification', () => {
  it('refuses a key that there is not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'durable-operator-compose-'));
    const slip = join(folder, BASE);
    try {
      const text = readFileSync(join(ROOT, BASE), 'utf8');
      await writeFile(slip, text.replace('stop_grace_period', 'stop_grace_periode'));
      await expect(parsed(slip)).rejects.toThrow('stop_grace_periode');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe.each([
  { name: BASE, files: [BASE] },
  { name: `${BASE} with ${OWN_CLUSTER}`, files: [BASE, OWN_CLUSTER] },
])('$name', ({ files }) => {
  let services: Readonly<Record<string, Service>>;

  beforeAll(async () => {
    ({ services } = await parsed(...files));
  });

  it('pins the version of every image that is not built here', () => {
    const pulled = Object.values(services).filter(({ build }) => build === undefined);
    expect(pulled.map(({ image }) => image).filter((image) => !/:v?\d+\.\d+/.test(image))).toEqual([]);
  });

  it('sets Temporal up with the tools of its own version', () => {
    const [server, ...tools] = ['temporal', 'temporal-schema', 'temporal-namespace'].map(versionOf);
    expect(new Set(tools)).toEqual(new Set([server]));
  });

  it('waits for the health only of those that tell it', () => {
    const waits = Object.values(services).flatMap(({ depends_on }) => Object.entries(depends_on));
    const forHealth = waits.filter(([, { condition }]) => condition === 'service_healthy');
    expect(forHealth.map(([name]) => name).filter((name) => !services[name]?.healthcheck)).toEqual([]);
  });

  it('starts the operator after the Temporal namespace and the CRDs, and the samples after the operator', () => {
    expect(named('operator').depends_on).toMatchObject({
      'temporal-namespace': { condition: 'service_completed_successfully' },
      'custom-resources': { condition: 'service_completed_successfully' },
    });
    expect(named('samples').depends_on).toMatchObject({ operator: { condition: 'service_healthy' } });
  });

  it('mounts nothing of this folder that is not there, and nothing to be written', () => {
    const mounts = Object.values(services).flatMap(({ volumes }) => volumes);
    const ours = mounts.filter(({ type, source }) => type === 'bind' && source.startsWith(ROOT));
    expect(ours.map(({ source }) => source).filter((source) => !existsSync(source))).toEqual([]);
    expect(ours.filter(({ read_only }) => !read_only)).toEqual([]);
  });

  it('lets only root read files of the checkout, which are not for everybody under a umask of 077', () => {
    const readers = Object.entries(services).filter(([, { volumes }]) =>
      volumes.some(({ source }) => source.startsWith(ROOT)),
    );
    const asOthers = readers.filter(
      ([, { image, user }]) => !image.startsWith('rancher/k3s:') && user !== '0:0',
    );
    expect(asOthers.map(([name]) => name)).toEqual([]);
  });

  it('opens ports on loopback only', () => {
    const open = Object.values(services).flatMap(({ ports }) => ports);
    expect(open.filter(({ host_ip }) => host_ip !== '127.0.0.1')).toEqual([]);
  });

  it('never pulls the image that is built here', () => {
    expect(named('operator')).toMatchObject({ image: 'durable-operator', pull_policy: 'build' });
  });

  it('says at the end where everything is', () => {
    expect(named('next-steps').entrypoint).toEqual(['/bin/sh', '/compose/next-steps.sh']);
  });

  it('runs the operator as a restricted Pod does, from the image that is built here', () => {
    expect(named('operator')).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    const { context = '', dockerfile = '' } = named('operator').build ?? {};
    expect(relative(ROOT, join(context, dockerfile))).toBe('deploy/Dockerfile');
  });

  function named(name: string): Service {
    const service = services[name];
    if (service === undefined) throw new Error(`${name} is not a service of ${files.join(', ')}`);
    return service;
  }

  function versionOf(name: string): string | undefined {
    return named(name).image.split(':').at(-1);
  }
});

describe(BASE, () => {
  it('gives a new container of k3s the name and the password of its node', async () => {
    const { services } = await parsed(BASE);
    expect(services['kubernetes']?.command).toContain('--node-name=k3s');
    const kept = services['kubernetes']?.volumes.filter(({ type }) => type === 'volume') ?? [];
    expect(kept.map(({ target }) => target)).toEqual(
      expect.arrayContaining(['/etc/rancher/node', '/var/lib/rancher/k3s']),
    );
  });

  it('takes each port of this machine from a variable', () => {
    const ports = Object.values(Written.parse(parse(readFileSync(join(ROOT, BASE), 'utf8'))).services)
      .flatMap((service) => service.ports)
      .filter((port) => !/^127\.0\.0\.1:\$\{PORT_[A-Z_]+:-\d+\}:\d+$/.test(port));
    expect(ports).toEqual([]);
  });

  it('takes the base images of the Dockerfile, unless variables name others', () => {
    const { services } = Written.parse(parse(readFileSync(join(ROOT, BASE), 'utf8')));
    expect(services['operator']?.build?.args).toMatchObject({ NODE_IMAGE: null, RUNTIME_IMAGE: null });
  });

  it('runs every script in deploy/compose', async () => {
    const { services } = await parsed(BASE);
    const run = Object.values(services).flatMap(({ entrypoint }) => entrypoint ?? []);
    const scripts = readdirSync(join(ROOT, 'deploy/compose')).filter((file) => file.endsWith('.sh'));
    expect(scripts.filter((script) => !run.includes(`/compose/${script}`))).toEqual([]);
  });

  it('tunes Temporal as the local stack does', async () => {
    const { configs } = await parsed(BASE);
    const text = configs['temporal-dynamic-config']?.content ?? '';
    const Setting = z.tuple([z.object({ value: z.union([z.boolean(), z.number()]) })]);
    const settings = Object.entries(z.record(z.string(), Setting).parse(parse(text)));
    const tuned = settings.map(([key, [{ value }]]) => `${key}=${String(value)}`);
    expect(tuned.sort()).toEqual(tuningOfTheLocalStack().sort());
  });
});

describe(OWN_CLUSTER, () => {
  let services: Readonly<Record<string, Service>>;

  beforeAll(async () => {
    ({ services } = await parsed(BASE, OWN_CLUSTER));
  });

  it('starts no cluster', () => {
    expect(Object.keys(services)).not.toContain('kubernetes');
    expect(Object.values(services).flatMap(({ command }) => command ?? [])).not.toContain('server');
  });

  it('applies the samples only when asked', () => {
    expect(services['samples']?.profiles).toEqual(['samples']);
  });

  it.each(['custom-resources', 'operator', 'samples'])('gives %s your kubeconfig, to read', (name) => {
    const mount = services[name]?.volumes.find(({ target }) => target === '/kubeconfig/operator.yaml');
    expect(mount).toMatchObject({
      source: '/home/me/.kube/config',
      read_only: true,
      bind: { create_host_path: false },
    });
    expect(services[name]?.environment['KUBECONFIG']).toBe('/kubeconfig/operator.yaml');
  });

  it('leaves the cluster its own identity, and the runs of k3s, which Temporal may have kept, alone', async () => {
    const k3s = (await parsed(BASE)).services['operator']?.environment ?? {};
    expect(k3s).toMatchObject({ DURABLE_OPERATOR_CLUSTER_NAME: 'docker-compose' });
    expect(k3s).not.toHaveProperty('DURABLE_OPERATOR_TASK_QUEUE');
    expect(services['operator']?.environment).toMatchObject({
      // Unset, so that the UID tells it from others.
      DURABLE_OPERATOR_CLUSTER_NAME: '',
      DURABLE_OPERATOR_TASK_QUEUE: 'durable-operator-own-cluster',
    });
  });

  it('lets the operator reach what you reach, and be reached from this machine only', () => {
    expect(services['operator']?.network_mode).toBe('host');
    expect(services['operator']?.environment).toMatchObject({
      TEMPORAL_ADDRESS: '127.0.0.1:7233',
      DURABLE_OPERATOR_HEALTH_ADDR: '127.0.0.1:9098',
      DURABLE_OPERATOR_METRICS_ADDR: '127.0.0.1:9097',
    });
    expect(services['operator']?.healthcheck?.test.join(' ')).toContain('http://127.0.0.1:9098/readyz');
  });
});

function twoOf(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + separator.length)];
}

function tuningOfTheLocalStack(): string[] {
  const ports = { apiServer: 1, etcdClient: 2, etcdPeer: 3, temporal: 4, temporalUi: 5, temporalMetrics: 6 };
  const args = SERVER_ARGUMENTS.temporal({ layout: layoutOf('/stack'), ports, audit: false });
  return args.filter((_, index) => args[index - 1] === '--dynamic-config-value');
}
