import { Client, Connection } from '@temporalio/client';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers } from '../../local/build.ts';
import { applyCustomResources } from '../../local/custom-resources.ts';
import { applyManifest, typeOf, type ManifestDocument } from '../../local/manifests.ts';
import { manifestsIn } from '../../src/ask/plan/manifests.ts';
import { startStack, type Stack } from '../../local/stack.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { found } from '../../src/kubernetes/errors.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { eventually } from '../eventually.ts';
import type {
  ObjectReference,
  OperatorOptions,
  StoredObject,
  TestOperator,
  TestStack,
  WrittenObject,
} from './test-stack.ts';
import { ApiProxy } from './api-proxy.ts';
import { killedAfterWrite } from './kills.ts';
import { StartedOperator } from './operator.ts';
import { writeKubeconfig, type ServiceAccount } from './service-account.ts';

const FIELD_MANAGER = 'test';
const WITHIN_S = 60;

/** @param onStop once it is of no more use */
export async function startTestStack(onStop: () => void): Promise<TestStack> {
  const binaries = await buildServers();
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-test-'));
  return new RunningStack(await startStack({ dir, binaries, audit: true }), onStop);
}

class RunningStack implements TestStack {
  readonly kubeconfig: string;
  readonly temporalAddress: string;
  readonly temporalUiUrl: string;
  readonly #stack: Stack;
  readonly #client: KubernetesClient;
  readonly #connection: Connection;
  readonly #operators: StartedOperator[] = [];
  readonly #onStop: () => void;
  #installed: Promise<Installed> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(stack: Stack, onStop: () => void) {
    this.#stack = stack;
    this.#onStop = onStop;
    this.kubeconfig = stack.kubeconfig;
    this.temporalAddress = stack.temporalAddress;
    this.temporalUiUrl = stack.temporalUiUrl;
    const config = loadKubeConfig({ kubeconfig: stack.kubeconfig, env: {} });
    this.#client = createKubernetesClient(config, { version: 'test' });
    this.#connection = Connection.lazy({ address: stack.temporalAddress });
  }

  async namespace(): Promise<string> {
    const name = `test-${randomBytes(4).toString('hex')}`;
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const metadata = { namespace: name, name: 'default' };
    await eventually(() => this.get({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }), 30_000);
    return name;
  }

  async apply<T extends KubernetesObject>(object: WrittenObject): Promise<StoredObject<T>> {
    return (await applyManifest(this.#client, object, FIELD_MANAGER)).object as StoredObject<T>;
  }

  async applySample(path: string, namespace: string): Promise<StoredObject> {
    const [object, ...others] = manifestsIn(await readFile(path, 'utf8'), path);
    if (object === undefined || others.length > 0)
      throw new Error(
        `${path} has ${object === undefined ? 'no object' : 'several objects'}, instead of one`,
      );
    const { metadata } = object;
    const { namespaced } = await typeOf(this.#client, object);
    // No namespace of its own keeps what an earlier round has left away from it.
    const place = namespaced ? { namespace } : { name: `${metadata.name}-${namespace}` };
    return this.apply({ ...object, metadata: { ...metadata, ...place } });
  }

  async get<T extends KubernetesObject>(object: ObjectReference): Promise<T | undefined> {
    return found(this.#client.request<T>({ method: 'GET', path: await this.#pathOf(object) }));
  }

  async patch(object: ObjectReference, patch: object, subresource?: 'status'): Promise<void> {
    await this.#client.request({
      method: 'PATCH',
      path: await this.#pathOf(object, subresource),
      body: patch,
    });
  }

  async delete(object: ObjectReference): Promise<void> {
    await found(this.#client.request({ method: 'DELETE', path: await this.#pathOf(object) }));
  }

  async #pathOf(object: ObjectReference, subresource?: 'status'): Promise<string> {
    const { name, namespace } = object.metadata;
    return resourcePath(await typeOf(this.#client, object), { name, namespace, subresource });
  }

  until<T extends KubernetesObject>(
    object: ObjectReference,
    is: (object: T) => boolean,
    within = WITHIN_S,
  ): Promise<T> {
    return eventually(async () => {
      const now = await this.get<T>(object);
      if (now !== undefined && is(now)) return now;
      throw new Error(`${inWords(object)} is not as it should be after ${within} s: ${shown(now)}`);
    }, within * 1000);
  }

  async untilGone(object: ObjectReference, within = WITHIN_S): Promise<void> {
    await eventually(async () => {
      const now = await this.get(object);
      if (now === undefined) return true;
      throw new Error(`${inWords(object)} is still there after ${within} s: ${shown(now)}`);
    }, within * 1000);
  }

  async operator(options: OperatorOptions = {}): Promise<TestOperator> {
    const { kubeconfig } = await this.#install();
    return this.#start(kubeconfig, options);
  }

  async #start(kubeconfig: string, options: OperatorOptions): Promise<TestOperator> {
    const { account, objects: installed } = await this.#install();
    const { kubeconfig: adminKubeconfig, temporalAddress } = this;
    const temporal = new Client({ connection: this.#connection });
    const { auditLog } = this.#stack;
    const place = { kubeconfig, adminKubeconfig, temporalAddress, temporal, auditLog, account, installed };
    const operator = new StartedOperator(place, options);
    this.#operators.push(operator);
    await operator.start();
    return operator;
  }

  /** Once, however many operators are started. */
  #install(): Promise<Installed> {
    this.#installed ??= install(this.#client, { admin: this.kubeconfig, dir: this.#stack.dir });
    return this.#installed;
  }

  async outage(server: 'temporal' | 'kubernetes', during: () => Promise<void>): Promise<void> {
    const name = server === 'temporal' ? 'temporal' : 'kube-apiserver';
    await this.#stack.stopServer(name);
    try {
      await during();
    } finally {
      await this.#stack.startServer(name);
    }
  }

  async killAfterEveryWrite(
    story: (namespace: string) => Promise<void>,
    options: OperatorOptions = {},
  ): Promise<readonly string[]> {
    if (this.#operators.some(({ isRunning }) => isRunning))
      throw new Error('another operator would do what the killed one does not: stop it first');
    const { kubeconfig } = await this.#install();
    const file = join(this.#stack.dir, 'proxied.kubeconfig');
    for (const writes: string[] = []; ;) {
      const namespace = await this.namespace();
      const proxy = await ApiProxy.start(kubeconfig, file);
      const operator = await this.#start(proxy.kubeconfig, options);
      try {
        const round = { operator, proxy, nth: writes.length + 1, story: () => story(namespace) };
        const write = await killedAfterWrite(round);
        if (write === undefined) return writes;
        writes.push(write);
      } finally {
        await operator.stop();
        await proxy.stop();
      }
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#onStop();
    await Promise.all(this.#operators.map((operator) => operator.stop()));
    await this.#connection.close();
    await this.#client.close();
    await this.#stack.stop();
  }
}

function inWords({ kind, metadata: { namespace, name } }: ObjectReference): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

/** Without what only servers read. */
function shown(object: KubernetesObject | undefined): string {
  return JSON.stringify(object, (field, value: unknown) => (field === 'managedFields' ? undefined : value));
}

interface Installed {
  readonly objects: readonly ManifestDocument[];
  readonly account: ServiceAccount;
  /** The file of the account. */
  readonly kubeconfig: string;
}

const INSTALL_FILE = 'deploy/install.yaml';
const ACCESS = ['Namespace', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

/** Applies what `deploy/install.yaml` has, but for the Pods: the definitions, who the operator is, and what it may do. */
async function install(
  client: KubernetesClient,
  { admin, dir }: { readonly admin: string; readonly dir: string },
): Promise<Installed> {
  const text = await readFile(INSTALL_FILE, 'utf8').catch((error: unknown) => {
    throw new Error(
      `${INSTALL_FILE} is missing, which says what the operator may do: run npm run generate first`,
      {
        cause: error,
      },
    );
  });
  const objects = manifestsIn(text, INSTALL_FILE);
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition');
  await applyCustomResources(client, definitions);
  for (const object of objects)
    if (ACCESS.includes(object.kind)) await applyManifest(client, object, FIELD_MANAGER);
  const { name = '', namespace = '' } = objects.find(({ kind }) => kind === 'ServiceAccount')?.metadata ?? {};
  const account = { name, namespace };
  const kubeconfig = join(dir, 'operator.kubeconfig');
  await writeKubeconfig(client, { account, admin, file: kubeconfig });
  return { objects, account, kubeconfig };
}
