import { beforeAll } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { applyManifest, type ManifestDocument } from '../../local/manifests.ts';
import { fieldsOf, listOf, type Fields } from '../../src/api/fields.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue, startOperator, type Operator, type OperatorRequest } from './operator.ts';
import { setUpStage, type Stage } from './stage.ts';

export const DEFINITIONS: PathType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};
const SERVED_WITHIN_MS = 60_000;

interface Program {
  /** In `test/support`. */
  readonly file: string;
  /** They are there before the first test, and go after the last. */
  readonly kinds: readonly (PathType & { readonly manifest: ManifestDocument })[];
  /** Of whoever runs it, and of whoever asks it. Default: nothing. */
  readonly env?: Readonly<Record<string, string>>;
}

/** For a file whose tests start a program of an author, with all rights. */
export interface ProgramStage extends Stage {
  readonly taskQueue: string;
  readonly start: (request?: OperatorRequest) => Promise<Operator>;
  /** @returns what it printed, whether or not all is well */
  readonly ask: (...args: readonly string[]) => Promise<string>;
}

export function setUpProgram({ file, kinds, env = {} }: Program): ProgramStage {
  const program = join(import.meta.dirname, file);
  const taskQueue = aTaskQueue();
  const stage = setUpStage(async () => {
    for (const { plural, group } of kinds)
      await stage.cluster.delete({ type: DEFINITIONS, name: `${plural}.${group}` });
  });
  const { kubeconfig, temporalAddress } = stage.stack;
  beforeAll(async () => {
    for (const kind of kinds) {
      await applyManifest(stage.cluster.client, kind.manifest, 'author');
      await untilServed(stage.cluster.client, kind);
    }
  });
  return {
    ...stage,
    taskQueue,
    start: (request = {}) =>
      startOperator({ kubeconfig, taskQueue, program, ...request, env: { ...env, ...request.env } }),
    ask: (command = '', ...args) => {
      const servers = { KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress };
      const asked = [program, command, '--task-queue', taskQueue, ...args];
      return promisify(execFile)(process.execPath, asked, {
        env: { ...process.env, ...servers, ...env },
      }).then(
        ({ stdout }) => stdout,
        (error: unknown) => `${String(fieldsOf(error)['stdout'])}${String(fieldsOf(error)['stderr'])}`,
      );
    },
  };
}

/** Resolves once the API server serves a kind that was made known to it. */
export async function untilServed(client: KubernetesClient, type: PathType): Promise<void> {
  const isServed = () =>
    client.request({ method: 'GET', path: resourcePath(type, {}) }).then(
      () => true,
      () => false,
    );
  await eventually(isServed, SERVED_WITHIN_MS);
}

/** A condition of an object of any kind; without fields: it has none of this type. */
export function conditionIn(object: unknown, type: string): Fields {
  const conditions = listOf(fieldsOf(fieldsOf(object)['status'])['conditions']);
  return fieldsOf(conditions.find((each) => each['type'] === type));
}
