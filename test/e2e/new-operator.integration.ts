import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPrograms } from '../../local/build.ts';
import { applyManifest } from '../../local/manifests.ts';
import { parseManifests } from '../../src/ask/plan/manifests.ts';
import { ANSWERED_BY_ANNOTATION, APPROVED_ANNOTATION } from '../../src/api/annotations.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { Author } from '../support/author.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES, type At } from '../support/cluster.ts';
import { TestDebugger } from '../support/debugger.ts';
import { Delivered } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { askedBy, grantedTo, unique } from '../../testing/stack/rights.ts';
import { aTaskQueue, startOperator } from '../support/operator.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * The first hour of an author: what `new` writes passes every command of its package.json as it is.
 */

jest.setTimeout(300_000);

const run = promisify(execFile);
const WITHIN_MS = 60_000;
const NAME = 'website-operator';
const NAMESPACE = `${NAME}-system`;
const ACCOUNT = { namespace: NAMESPACE, name: NAME };
const WEBSITES = { group: 'example.com', version: 'v1', plural: 'websites' };
const CRD = {
  type: { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' },
  name: 'websites.example.com',
};

/** What is in no namespace, but for the definitions. */
const OF_CLUSTER: Readonly<Record<string, PathType>> = {
  ClusterRole: CLUSTER_ROLES,
  ClusterRoleBinding: CLUSTER_ROLE_BINDINGS,
  ValidatingAdmissionPolicy: policyType('validatingadmissionpolicies'),
  ValidatingAdmissionPolicyBinding: policyType('validatingadmissionpolicybindings'),
};

function policyType(plural: string): PathType {
  return { group: 'admissionregistration.k8s.io', version: 'v1', plural };
}

const manifestsIn = (text: string) => parseManifests(text, 'a file');

const times: string[] = [];
let author: Author;
let project: string;
let installed: readonly Delivered[] = [];

const stage = setUpStage(async () => {
  const { cluster } = stage;
  await cluster.delete({ ...CRD, name: 'imagescans.example.com' });
  for (const { kind, metadata } of installed) {
    const type = OF_CLUSTER[kind];
    if (type !== undefined) await cluster.delete({ type, name: metadata.name });
  }
  await cluster.delete(CRD);
  await cluster.delete({ type: NAMESPACES, name: NAMESPACE });
  await author.remove(stage);
});

beforeAll(async () => {
  author = await Author.begin();
  project = join(author.directory, NAME);
});

afterAll(() => {
  process.stdout.write(`${times.join('\n')}\n`);
});

/** @returns what it printed. @throws Error where it fails */
async function timed(command: string, ...args: readonly string[]): Promise<string> {
  const began = performance.now();
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const { stdout } = await run(command, args, { cwd: project, env });
  times.push(`${Math.round(performance.now() - began)} ms: ${[command, ...args].join(' ')}`);
  return stdout;
}

const npm = (...args: readonly string[]) => timed('npm', 'run', '--silent', ...args);

describe('what new writes', () => {
  it('is a project, and is never written over another', async () => {
    const program = join(author.directory, 'node_modules/durable-operator/dist/src/main.js');
    const write = () => author.node(program, 'new', NAME);
    expect(await write()).toContain('src/website.ts');
    await symlink(join(author.directory, 'node_modules'), join(project, 'node_modules'));
    await expect(write()).rejects.toThrow();
  });

  it.each(['types', 'test', 'generate'])('passes npm run %s', async (script) => {
    await npm(script);
  });

  it('passes npm run generate -- --check', async () => {
    expect(await npm('generate', '--', '--check')).toBe('deploy/ is up to date\n');
  });

  it('has one more controller after new --add, whose sample and test are its own', async () => {
    const program = join(author.directory, 'node_modules/durable-operator/dist/src/main.js');
    const added = ['new', '--add', '--kind', 'ImageScan', '--decides'];
    await timed(process.execPath, program, ...added);
    await npm('types');
    await npm('test');
    await npm('generate', '--', '--allow-new-rights');
    expect(await readFile(join(project, 'deploy/crd/imagescans.yaml'), 'utf8')).toContain('kind: ImageScan');
  });

  it('compiles whatever its kinds are called', async () => {
    const program = join(author.directory, 'node_modules/durable-operator/dist/src/main.js');
    await author.node(program, 'new', 'odd-kinds', '--kind', 'Function');
    const odd = join(author.directory, 'odd-kinds');
    const add = (...kind: readonly string[]) =>
      run(process.execPath, [program, 'new', '--add', '--kind', ...kind], { cwd: odd });
    for (const kind of ['Class', 'Service', 'Operator']) await add(kind);
    await add('Page', '--decides');
    await run('npm', ['run', '--silent', 'types'], { cwd: odd });
    await expect(add('Main')).rejects.toThrow('the kind Main must have another name');
  });

  it.each([[], ['--decides']])(
    'may be of a cluster-scoped kind: %s',
    async (...decides: readonly string[]) => {
      const program = join(author.directory, 'node_modules/durable-operator/dist/src/main.js');
      const name = `fleet-${decides.length}`;
      await author.node(program, 'new', name, '--kind', 'Fleet', '--cluster-scoped', ...decides);
      const cwd = join(author.directory, name);
      for (const script of ['types', 'test', 'generate'])
        await run('npm', ['run', '--silent', script], { cwd });
      expect(await readFile(join(cwd, 'deploy/crd/fleets.yaml'), 'utf8')).toContain('scope: Cluster');
      expect(await readFile(join(cwd, 'samples/fleet.yaml'), 'utf8')).not.toContain('namespace');
    },
  );

  it('is installed by a chart, too, which is the same as install.yaml, also where a text has braces', async () => {
    const { helm } = await buildPrograms(['helm']);
    const file = join(project, 'src/website.ts');
    const code = await readFile(file, 'utf8');
    await writeFile(file, code.replace('behind a Service', 'behind {{ .Name }} and {{- range'));
    await npm('generate', '--', '--allow-new-rights');
    const args = ['template', NAME, 'deploy/chart', '--namespace', NAMESPACE];
    const rendered = manifestsIn(await timed(helm, ...args));
    const [namespace, ...objects] = manifestsIn(await readFile(join(project, 'deploy/install.yaml'), 'utf8'));
    expect(namespace?.kind).toBe('Namespace');
    expect(byName(rendered.map(withoutAnnotations))).toEqual(byName(objects.map(withoutAnnotations)));
  });

  it('has a chart whose values set what people set of others', async () => {
    const { helm } = await buildPrograms(['helm']);
    const values = {
      ...{ global: { imageRegistry: 'ignored' }, extraArgs: ['--payload-keys=/keys/keys'] },
      volumes: [{ name: 'keys', secret: { secretName: 'keys' } }],
      volumeMounts: [{ name: 'keys', mountPath: '/keys' }],
      extraEnv: [{ name: 'STORE', value: 'here' }],
      podLabels: { team: 'shop', 'app.kubernetes.io/name': 'never another one' },
      ...{ priorityClassName: 'high', topologySpreadConstraints: null, securityContext: { runAsUser: null } },
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    };
    const file = join(project, 'values.json');
    await writeFile(file, JSON.stringify(values));
    const rendered = manifestsIn(await timed(helm, 'template', NAME, 'deploy/chart', '--values', file));
    const deployment = rendered.find(({ kind }) => kind === 'Deployment');
    const { template } = fieldsOf(deployment?.['spec']) as {
      template: Record<string, Record<string, unknown>>;
    };
    expect(template['metadata']?.['labels']).toEqual({ team: 'shop', 'app.kubernetes.io/name': NAME });
    expect(template['spec']).toMatchObject({
      ...{ priorityClassName: 'high', topologySpreadConstraints: null },
      securityContext: { runAsGroup: 1000, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      volumes: [{ name: 'temporal' }, { name: 'keys' }],
      containers: [
        {
          args: expect.arrayContaining(['--payload-keys=/keys/keys']),
          env: expect.arrayContaining([{ name: 'STORE', value: 'here' }]),
          volumeMounts: [{ name: 'temporal' }, { name: 'keys', mountPath: '/keys' }],
        },
      ],
    });
    expect(template['spec']?.['securityContext']).not.toHaveProperty('runAsUser');
    const monitor = rendered.find(({ kind }) => kind === 'ServiceMonitor');
    expect(monitor?.metadata).toMatchObject({ labels: { release: 'prometheus' } });
  });
});

/** The chart keeps its definitions. */
function withoutAnnotations(object: object): object {
  return { ...object, metadata: { ...fieldsOf(fieldsOf(object)['metadata']), annotations: undefined } };
}

function byName(objects: readonly object[]): Readonly<Record<string, object>> {
  const nameOf = (each: object) =>
    `${String(fieldsOf(each)['kind'])} ${String(fieldsOf(fieldsOf(each)['metadata'])['name'])}`;
  return Object.fromEntries(objects.map((each) => [nameOf(each), each]));
}

/** The samples stay as they are, and nothing fails; a request for finalizers is one of the API server's own. */
const UNUSED_HERE =
  /^(get|patch|delete) (deployments|services|configmaps)|^patch events|^update (leases|.*\/finalizers$)/;

describe('an operator as install.yaml has it', () => {
  it('has the rights that its work needs, and no others', async () => {
    const { cluster, stack, kubeconfigOf } = stage;
    const text = await readFile(join(project, 'deploy/install.yaml'), 'utf8');
    installed = manifestsIn(text).map((each) => Delivered.parse(each));
    for (const object of installed) await applyManifest(cluster.client, object, 'author');
    const program = join(project, 'src/main.ts');
    const kubeconfig = await kubeconfigOf(ACCOUNT);
    const args = ['--enable-leader-election', '--leader-election-namespace', NAMESPACE];
    await startOperator({ kubeconfig, taskQueue: aTaskQueue(), program, args });
    const namespace = await cluster.aNamespace();
    for (const sample of ['website', 'image-scan']) {
      const [manifest] = manifestsIn(await readFile(join(project, `samples/${sample}.yaml`), 'utf8'));
      if (manifest === undefined) throw new Error('there is no sample');
      const metadata = { ...manifest.metadata, namespace };
      await applyManifest(cluster.client, { ...manifest, metadata }, 'author');
    }
    const at = { type: WEBSITES, namespace, name: 'my-website' };
    await eventually(async () => conditionIn(await cluster.get(at), 'Ready')['status'] === 'True', WITHIN_MS);
    await nobodyApprovesInTheNameOf('the-ceo', at);
    const asked = askedBy(ACCOUNT, stack.auditLog, NAME);
    expect(asked.filter(({ decision }) => decision === 'forbid')).toEqual([]);
    const used = unique(asked.map(({ what }) => what));
    const unused = grantedTo(ACCOUNT, installed).filter((what) => !used.includes(what));
    expect(unused.filter((what) => !UNUSED_HERE.test(what))).toEqual([]);
  });
});

describe('a sample that somebody has edited', () => {
  it('is as its file has it at the next start, which is said', async () => {
    const { cluster } = stage;
    const namespace = await cluster.aNamespace();
    const text = await readFile(join(project, 'samples/website.yaml'), 'utf8');
    const [manifest] = manifestsIn(text.replace('namespace: default', `namespace: ${namespace}`));
    if (manifest === undefined) throw new Error('there is no sample');
    await applyManifest(cluster.client, manifest, 'samples');
    const path = resourcePath(WEBSITES, { namespace, name: 'my-website' });
    const query = { fieldManager: 'kubectl-edit' };
    await cluster.client.request({ method: 'PATCH', path, query, body: { spec: { replicas: 1 } } });
    const { object, overwrote } = await applyManifest(cluster.client, manifest, 'samples');
    expect(object).toMatchObject({ spec: { replicas: 2 } });
    expect(overwrote).toMatch(/conflict with "kubectl-edit".*\.spec\.replicas/);
  });
});

/** It takes the API server a moment to see a policy. */
async function nobodyApprovesInTheNameOf(name: string, at: At): Promise<void> {
  const annotations = { [APPROVED_ANNOTATION]: '1-00000000', [ANSWERED_BY_ANNOTATION]: name };
  await eventually(async () => {
    const approve = stage.cluster.client.request({
      ...{ method: 'PATCH', path: resourcePath(at.type, at), query: { dryRun: 'All' } },
      body: { metadata: { annotations } },
    });
    await expect(approve).rejects.toThrow('whoever approves or rejects must be named');
    return true;
  }, WITHIN_MS);
}

describe('npm start', () => {
  const dir = () => join(author.directory, 'stack');

  it('ends once the samples have converged, if asked to', async () => {
    const sample = join(project, 'samples/website.yaml');
    const text = await readFile(sample, 'utf8');
    await writeFile(sample, `${text.replace('  namespace: default\n', '')}---\n# no more\n`);
    const said = await npm('start', '--', '--dir', dir(), '--exit-when-converged');
    expect(said).toMatch(/Website default\/my-website: converged/);
  });

  it('starts the operator again when its code changes, also after a mistake, and with changed kinds', async () => {
    const child = spawn(process.execPath, ['src/main.ts', 'dev', '--dir', dir()], { cwd: project });
    const lines = linesOf(child);
    const said = (text: string) => eventually(() => Promise.resolve(lines().includes(text)), WITHIN_MS);
    await said('Ctrl-C');
    const file = join(project, 'src/website.ts');
    const code = await readFile(file, 'utf8');
    await appendFile(file, 'a mistake(');
    await said('It is started again when a file changes');
    expect(lines()).toContain('SyntaxError');
    await writeFile(file, code.replace('replicas: z', 'color: z.string().optional(),\n    replicas: z'));
    await said('the operator is ready, after');
    const { kubectl } = await buildPrograms(['kubectl']);
    const kubeconfig = join(dir(), 'admin.kubeconfig');
    const explain = () => run(kubectl, ['--kubeconfig', kubeconfig, 'explain', 'website.spec.color']);
    await eventually(async () => (await explain().catch(() => undefined)) !== undefined, WITHIN_MS);
    times.push(/the operator is ready, after .*/.exec(lines())?.[0] ?? '');
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('stops at a breakpoint in decide and in a step with --inspect', async () => {
    const args = ['src/main.ts', 'dev', '--dir', dir(), '--inspect'];
    const child = spawn(process.execPath, args, { cwd: project });
    const lines = linesOf(child);
    await eventually(() => Promise.resolve(lines().includes('Ctrl-C')), WITHIN_MS);
    const file = 'src/image-scan.ts';
    const code = (await readFile(join(project, file), 'utf8')).split('\n');
    const lineWith = (text: string) => code.findIndex((line) => line.includes(text)) + 1;
    const launch = await readFile(join(project, '.vscode/launch.json'), 'utf8');
    const [, port = ''] = /"port": (\d+)/.exec(launch) ?? [];
    const attached = await TestDebugger.attach(`127.0.0.1:${port}`);
    attached.breakAt(file, lineWith('if (!page) return'));
    attached.breakAt(file, lineWith('const { resourceVersion'));
    const { kubectl } = await buildPrograms(['kubectl']);
    const text = JSON.stringify({ spec: { text: 'seen by a debugger' } });
    const patch = ['patch', 'imagescan/my-image-scan', '--type=merge', '--patch', text];
    await run(kubectl, ['--kubeconfig', join(dir(), 'admin.kubeconfig'), ...patch]);
    const page = ['get', 'configmap/my-image-scan', '--output=jsonpath={.data.text}'];
    await eventually(async () => {
      const { stdout } = await run(kubectl, ['--kubeconfig', join(dir(), 'admin.kubeconfig'), ...page]);
      return stdout === 'seen by a debugger';
    }, WITHIN_MS);
    expect(attached.lines).toEqual(
      expect.arrayContaining([lineWith('if (!page) return'), lineWith('const { resourceVersion')]),
    );
    attached.detach();
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('takes up a controller that is added, and goes on without it once it is removed', async () => {
    const child = spawn(process.execPath, ['src/main.ts', 'dev', '--dir', dir()], { cwd: project });
    const lines = linesOf(child);
    const readyAgain = (times: number) =>
      eventually(
        () => Promise.resolve(lines().split('the operator is ready, after').length > times),
        WITHIN_MS,
      );
    await eventually(() => Promise.resolve(lines().includes('Ctrl-C')), WITHIN_MS);
    const main = join(project, 'src/main.ts');
    const before = await readFile(main, 'utf8');
    const program = join(author.directory, 'node_modules/durable-operator/dist/src/main.js');
    await timed(process.execPath, program, 'new', '--add', '--kind', 'Extra');
    await readyAgain(1);
    const { kubectl } = await buildPrograms(['kubectl']);
    const ask = (...args: readonly string[]) =>
      run(kubectl, ['--kubeconfig', join(dir(), 'admin.kubeconfig'), ...args], { cwd: project });
    const apply = () => ask('apply', '--filename', 'samples/extra.yaml').catch(() => undefined);
    await eventually(async () => (await apply()) !== undefined, WITHIN_MS);
    const status = ['extra/my-extra', '--output', 'jsonpath={.status.url}'];
    await eventually(async () => (await ask('get', ...status)).stdout.includes('my-extra'), WITHIN_MS);
    await writeFile(main, before);
    await readyAgain(2);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

function linesOf({ stdout, stderr }: ChildProcess): () => string {
  let text = '';
  for (const stream of [stdout, stderr]) stream?.on('data', (part: Buffer) => (text += part.toString()));
  return () => text;
}
