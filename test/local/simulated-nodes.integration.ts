import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputOf } from '../../local/program-output.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(60_000);

const NAMESPACE = 'simulated-nodes';
let folder: string;

async function kubectl(...args: string[]): Promise<string> {
  const { kubectl: program, kubeconfig } = testStack();
  const { outcome, output } = await outputOf(program, ['--kubeconfig', kubeconfig, '-n', NAMESPACE, ...args]);
  if (outcome !== 'succeeded') throw new Error(`kubectl ${args.join(' ')}: ${output}`);
  return output.trim();
}

/** One container, with one environment variable of this value beside one without a literal value. */
function podRunning({ image = 'golang:1.13', command = 'go build' }: { image?: string; command?: string }) {
  const fromField = { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } };
  return {
    restartPolicy: 'Never',
    containers: [{ name: 'only', image, env: [{ name: 'COMMAND', value: command }, fromField] }],
  };
}

async function apply(kind: string, name: string, spec: object): Promise<void> {
  const apiVersion = kind === 'Job' ? 'batch/v1' : 'v1';
  const file = join(folder, `${name}.json`);
  await writeFile(file, JSON.stringify({ apiVersion, kind, metadata: { name }, spec }));
  await kubectl('apply', '-f', file);
}

function applyJob(name: string, pod: object, spec: object = {}): Promise<void> {
  return apply('Job', name, { backoffLimit: 0, template: { spec: pod }, ...spec });
}

function podOf(job: string, jsonPath: string): Promise<string> {
  return kubectl('get', 'pods', '-l', `batch.kubernetes.io/job-name=${job}`, '-o', `jsonpath=${jsonPath}`);
}

function seen(resource: string, condition: string): Promise<string> {
  return kubectl('wait', resource, `--for=${condition}`, '--timeout=30s');
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simulated-nodes-'));
  await kubectl('create', 'namespace', NAMESPACE);
});

afterAll(async () => {
  await kubectl('delete', 'namespace', NAMESPACE, '--wait=false');
  await rm(folder, { recursive: true });
});

describe('on a simulated node', () => {
  it('a pod runs and is ready, with an address, whatever its command', async () => {
    await apply('Pod', 'plain', podRunning({ command: 'exit 1' }));
    await seen('pod/plain', 'condition=Ready');
    const status = await kubectl('get', 'pod', 'plain', '-o', 'jsonpath={.status.phase} {.status.podIP}');
    expect(status).toMatch(/^Running 10\.\d+\.\d+\.\d+$/);
  });

  it('a deleted pod goes', async () => {
    await apply('Pod', 'short-lived', podRunning({}));
    await seen('pod/short-lived', 'condition=Ready');
    await kubectl('delete', 'pod', 'short-lived', '--timeout=30s');
    await expect(kubectl('get', 'pod', 'short-lived')).rejects.toThrow('NotFound');
  });

  it('a Job succeeds', async () => {
    await applyJob('good', podRunning({}));
    await seen('job/good', 'condition=Complete');
    expect(await podOf('good', '{.items[*].spec.nodeName}')).toMatch(/^simulated-[12]$/);
  });

  it('a Job with the variable `exit 1` fails with that code', async () => {
    await applyJob('bad', podRunning({ command: 'exit 1' }));
    await seen('job/bad', 'condition=Failed');
    expect(await podOf('bad', '{.items[*].status.containerStatuses[*].state.terminated.exitCode}')).toBe('1');
  });

  it('a Job with the variable `sleep infinity` keeps running', async () => {
    await applyJob('endless', podRunning({ command: 'sleep infinity' }));
    await seen('job/endless', 'jsonpath={.status.ready}=1');
    expect(await podOf('endless', '{.items[*].status.phase}')).toBe('Running');
  });

  it('a Job’s Pod that is deleted while it runs fails, and is gone', async () => {
    // Such a Job waits for the phase.
    const spec = { podReplacementPolicy: 'Failed' };
    await applyJob('stopped', podRunning({ command: 'sleep infinity' }), spec);
    await seen('job/stopped', 'jsonpath={.status.ready}=1');
    const pod = await podOf('stopped', '{.items[*].metadata.name}');
    await kubectl('delete', 'pod', pod, '--timeout=30s');
    await seen('job/stopped', 'condition=Failed');
  });

  it('an image of missing.invalid cannot be pulled', async () => {
    await applyJob('no-image', podRunning({ image: 'missing.invalid/golang' }));
    const reason = '{.status.containerStatuses[0].state.waiting.reason}';
    await seen('job/no-image', 'jsonpath={.status.active}=1');
    const pod = await podOf('no-image', '{.items[*].metadata.name}');
    await seen(`pod/${pod}`, `jsonpath=${reason}=ImagePullBackOff`);
    expect(await podOf('no-image', '{.items[*].status.phase}')).toBe('Pending');
  });
});
