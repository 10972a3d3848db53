import type { Advice, Cause } from '../../api/cause.ts';
import type { TaskQueuePollers } from '../../temporal/task-queue.ts';
import { timeText } from '../output.ts';
import type { AskedOperator } from '../session.ts';

export type AdvisedProblem = Omit<Cause, 'reason'>;

export const START_OPERATOR = 'start the operator, or find out why it does not run';

/** @param program its name, which its manifests give to its objects */
export function showOperator(program: string): Advice {
  const run = `kubectl get pods -A -l app.kubernetes.io/name=${program}`;
  return { run, to: 'show the Pods of the operator' };
}

/** With the names of the manifests: the operator publishes neither its namespace nor the name of its Lease. */
export function findLeader(program: string): readonly Advice[] {
  return [
    {
      run: `kubectl get leases -A --field-selector metadata.name=${program}`,
      to: 'show the leader: HOLDER begins with the name of its Pod',
    },
    {
      run: `kubectl logs -n ${program}-system -l app.kubernetes.io/name=${program} --prefix --tail 50`,
      to: 'show the logs',
    },
  ];
}

/** The operator that is asked about. */
type Asked = Pick<AskedOperator, 'program' | 'taskQueue'>;

/**
 * Why no worker takes up a run; undefined: one does.
 *
 * @param workers that poll the task queue of the run
 * @param own the operator
 */
export function workerProblem(
  { pollers, lastPollMs, current }: TaskQueuePollers,
  { taskQueue, version }: { readonly taskQueue: string; readonly version: string | undefined },
  own: Asked,
): AdvisedProblem | undefined {
  if (pollers.length === 0) return noWorker(taskQueue, own, lastPollMs);
  const versions = [...new Set(pollers)].filter((each) => each !== '').sort();
  const latest = versions.slice(-1);
  if (version !== undefined && !versions.includes(version)) {
    return {
      message: `the run stays with ${version}, and no worker of that version is left`,
      advice: [`start a worker of ${version} again`, endRunsOf(version)],
    };
  }
  if (version !== undefined || versions.includes(current)) return undefined;
  if (current !== '') {
    const others = versions.length === 0 ? 'no version' : versions.join(', ');
    return {
      message: `${current} is the current version, and it has no workers; there are workers of ${others}`,
      advice: [
        `start workers of ${current}, or promote the version that runs`,
        ...latest.map((each) => promote(own.program, each)),
      ],
    };
  }
  if (pollers.includes('')) return undefined;
  return {
    message: `no worker version is current: the workers of ${versions.join(', ')} get no runs until one is promoted`,
    advice: latest.map((each) => promote(own.program, each)),
  };
}

function noWorker(taskQueue: string, own: Asked, lastPollMs: number | undefined): AdvisedProblem {
  const since = lastPollMs === undefined ? 'for five minutes' : `since ${timeText(lastPollMs)}`;
  const message = `no worker has polled task queue "${taskQueue}" ${since}`;
  return taskQueue === own.taskQueue
    ? { message: message, advice: [START_OPERATOR, showOperator(own.program)] }
    : {
        message: `${message}; the operator uses task queue "${own.taskQueue}"`,
        advice: [`start a worker with --task-queue ${taskQueue} until this run has ended`],
      };
}

function promote(program: string, version: string): Advice {
  return { run: `${program} promote ${flagsOf(version)}`, to: 'make this version current' };
}

/** The watcher starts the next run of each resource, on the version that is current. */
function endRunsOf(version: string): Advice {
  return {
    run: `temporal workflow terminate --query "TemporalWorkerDeploymentVersion = '${version}' AND ExecutionStatus = 'Running'"`,
    to: 'or start its runs over on the current version',
  };
}

function flagsOf(version: string): string {
  const [deployment = '', buildId = ''] = version.split(':');
  return `--worker-deployment ${deployment} --worker-build-id ${buildId}`;
}
