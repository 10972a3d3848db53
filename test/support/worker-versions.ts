import { expect } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import { PROGRAM } from './built.ts';
import { ProjectCopy } from './project-copy.ts';
import type { TestTemporal } from './temporal.ts';

export type Version = 'ours' | 'changed';

/** This project, and a copy with another workflow, as two versions of the workers of one deployment. */
export class WorkerVersions {
  readonly #changed: ProjectCopy;

  private constructor(changed: ProjectCopy) {
    this.#changed = changed;
  }

  /**
   * A run of the copy begins with a timer, so that it cannot go on from the history of one of ours, nor ours from one of
   * its.
   *
   * @param file of the workflow: `git-build`
   * @param workflow its name: `gitBuild`
   */
  static async make(file: string, workflow: string): Promise<WorkerVersions> {
    const copy = await ProjectCopy.make();
    await copy.patch(`workflows/${file}.ts`, [
      "-import type { RunInput } from '../src/contract/run.ts';",
      "+import { sleep } from '@temporalio/workflow';",
      "+import type { RunInput } from '../src/contract/run.ts';",
      `-export function ${workflow}(run: RunInput): Promise<string> {`,
      `+export async function ${workflow}(run: RunInput): Promise<string> {`,
      '+  await sleep(1);',
    ]);
    return new WorkerVersions(copy);
  }

  programOf(version: Version): string {
    return version === 'ours' ? PROGRAM : join(this.#changed.directory, 'src/main.ts');
  }

  /** The command `promote`, as a Job runs it. */
  launchPromote(version: Version, { taskQueue, temporalAddress }: Deployment, ...args: readonly string[]) {
    const all = ['promote', `--task-queue=${taskQueue}`, ...versionArguments(version, taskQueue), ...args];
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, TEMPORAL_ADDRESS: temporalAddress };
    const command = [this.programOf(version), ...all, '--log-format=json'];
    const child = spawn(process.execPath, command, { env });
    const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
    return { child, end: async () => endOf(await ended) };
  }

  /** @returns what it said */
  async promote(version: Version, deployment: Deployment, ...args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.launchPromote(version, deployment, ...args).end();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout;
  }

  remove(): Promise<void> {
    return this.#changed.remove();
  }
}

/** Its name is that of its task queue. */
export interface Deployment {
  readonly taskQueue: string;
  readonly temporalAddress: string;
}

export function versionArguments(version: Version, taskQueue: string): readonly string[] {
  return [`--worker-deployment=${taskQueue}`, `--worker-build-id=${version}`];
}

/** `COMPLETED on ours`, the oldest first. */
export async function runsByVersion(temporal: TestTemporal, ref: ResourceRef): Promise<string[]> {
  const runs = await temporal.runsOf(ref);
  return Promise.all(
    runs.map(async ({ runId, status }) => {
      const { raw } = await temporal.client.workflow.getHandle(workflowIdFor(ref), runId).describe();
      const version = raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
      return `${status} on ${version ?? 'no version'}`;
    }),
  );
}

function endOf([[status], stdout, stderr]: [unknown[], string, string]) {
  return { status, stdout, stderr };
}
