import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { fieldsOf, listOf, textOf } from '../../src/controllers/fields.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { aBuild, JOBS, LiveBuild, NODES } from '../support/builds.ts';
import { NAMESPACES, PODS, TestCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { endOperators, startOperator } from '../support/operator.ts';

/*
 * On a cluster whose nodes really run containers: clones, builds, copies to the node, and removes it again. Simulated
 * nodes run nothing, so there it is skipped. To run it:
 *
 *   E2E_KUBECONFIG   the file of a user of that cluster who may do everything; nothing but this test may use the
 *                    cluster's operator meanwhile
 *   E2E_BUILD_IMAGE  an image with bash, git, git-daemon and Go that the nodes can pull; golang:1.13 by default
 *   E2E_HOST_DIR     the directory of the nodes; /opt by default
 */
const kubeconfig = process.env['E2E_KUBECONFIG'];
const image = process.env['E2E_BUILD_IMAGE'] ?? 'golang:1.13';
const hostDir = process.env['E2E_HOST_DIR'] ?? '/opt';
const onRealNodes = kubeconfig === undefined ? describe.skip : describe;

jest.setTimeout(900_000);
const WITHIN_MS = 600_000;
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

onRealNodes(
  'on nodes that run containers (skipped unless E2E_KUBECONFIG names such a cluster), a build',
  () => {
    let cluster: TestCluster;
    let namespace = '';
    const binaryName = `hello-${randomBytes(4).toString('hex')}`;

    beforeAll(async () => {
      const file = kubeconfig ?? '';
      cluster = new TestCluster(file);
      await refuseSimulatedNodes(cluster);
      await defineBuilds(cluster);
      namespace = await cluster.aNamespace();
      await startOperator({
        kubeconfig: file,
        args: [
          ...['--controllers', 'git-build', '--namespaces', namespace],
          ...['--build-image', image, '--build-host-dir', hostDir, '--build-git-transports', 'git'],
        ],
      });
    });

    afterAll(async () => {
      await endOperators();
      if (namespace !== '') await cluster.delete({ type: NAMESPACES, name: namespace });
      await cluster.close();
    });

    it('is cloned, built and copied to its node, and removed from there with its resource', async () => {
      const address = await aGitServer(cluster, namespace);
      const { manifest } = aBuild(namespace).with({
        gitUrl: `git://${address}/hello.git`,
        clonePath: '/root/go/src/hello',
        buildCommand: `go build -o ${binaryName}`,
        binaryName,
      });
      const build = new LiveBuild(cluster, manifest, WITHIN_MS);
      await cluster.create(BUILDS, manifest);
      const { status } = await build.is('Succeeded');
      const node = status?.artifacts?.[0]?.node ?? '';
      expect(status?.artifacts).toEqual([{ node, binary: binaryName }]);
      expect(await succeedsOn({ cluster, namespace, node, command: `/host/${binaryName}` })).toBe(true);
      await build.delete();
      await build.gone();
      expect(await succeedsOn({ cluster, namespace, node, command: `test ! -e /host/${binaryName}` })).toBe(
        true,
      );
    });
  },
);

async function refuseSimulatedNodes(cluster: TestCluster): Promise<void> {
  const { items } = await cluster.client.request<{ items: KubernetesObject[] }>({
    method: 'GET',
    path: `/api/v1/${NODES.plural}`,
  });
  const versions = items.map(({ status }) => fieldsOf(fieldsOf(status)['nodeInfo'])['kubeletVersion']);
  if (versions.every((version) => version === 'simulated')) {
    throw new Error('E2E_KUBECONFIG names a cluster whose nodes are simulated: nothing is built there');
  }
}

async function defineBuilds(cluster: TestCluster): Promise<void> {
  const name = `${BUILDS.plural}.${BUILDS.group}`;
  if ((await cluster.get({ type: CRDS, name })) === undefined) {
    const text = await readFile(new URL('../../deploy/crd/xxxes.yaml', import.meta.url), 'utf8');
    await cluster.client.request({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: parse(text),
    });
  }
  await eventually(async () => {
    const conditions = listOf(fieldsOf((await cluster.get({ type: CRDS, name }))?.['status'])['conditions']);
    return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
  }, 30_000);
}

const SERVE = `set -eu
mkdir -p /srv/hello.git && cd /srv/hello.git && git init -q
printf 'package main\\nfunc main() { println("hello") }\\n' > main.go
git add . && git -c user.name=a -c user.email=a@b commit -qm first
exec git daemon --reuseaddr --export-all --base-path=/srv /srv`;

/** A Pod that serves a repository of its own. @returns its address, once it serves */
async function aGitServer(cluster: TestCluster, namespace: string): Promise<string> {
  const readinessProbe = { tcpSocket: { port: 9418 }, periodSeconds: 1 };
  await cluster.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'git', namespace },
    spec: { containers: [{ name: 'git', image, command: ['bash', '-c', SERVE], readinessProbe }] },
  });
  return eventually(async () => {
    const status = fieldsOf((await cluster.get({ type: PODS, namespace, name: 'git' }))?.['status']);
    const isReady = listOf(status['conditions']).some(
      (condition) => condition['type'] === 'Ready' && condition['status'] === 'True',
    );
    return isReady && textOf(status['podIP']);
  }, WITHIN_MS);
}

interface OnNode {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly node: string;
  /** The host directory is at `/host`. */
  readonly command: string;
}

/** Whether a command succeeds on a node. */
async function succeedsOn({ cluster, namespace, node, command }: OnNode): Promise<boolean> {
  const name = `check-${randomBytes(4).toString('hex')}`;
  const container = { name: 'check', image, command: ['bash', '-c', command] };
  const volumeMounts = [{ name: 'host', mountPath: '/host', readOnly: true }];
  const volumes = [{ name: 'host', hostPath: { path: hostDir } }];
  const containers = [{ ...container, volumeMounts }];
  await cluster.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: {
      backoffLimit: 0,
      template: { spec: { restartPolicy: 'Never', nodeName: node, containers, volumes } },
    },
  });
  const end = await eventually(async () => {
    const status = fieldsOf((await cluster.get({ type: JOBS, namespace, name }))?.['status']);
    const ends = listOf(status['conditions']).filter((condition) => condition['status'] === 'True');
    return ends.find(({ type }) => type === 'Complete' || type === 'Failed')?.['type'];
  }, WITHIN_MS);
  return end === 'Complete';
}
