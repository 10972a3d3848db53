import { FAILURE } from '../../contract/failures.ts';
import type { Advice, Trouble } from '../../contract/words.ts';
import { unreachable } from '../../contract/unreachable.ts';
import type { WorkerProblem } from '../runs/workers.ts';

/** What goes for every controller. */
export function adviceOn(trouble: Trouble): readonly Advice[] {
  switch (trouble.is) {
    case 'failing':
      return onFailure(trouble.failure);
    case 'stalled':
      return ['correct the resource; that is noticed at once'];
    case 'waiting':
      return [];
    default:
      return unreachable(trouble);
  }
}

function onFailure(type: string): readonly Advice[] {
  switch (type) {
    case FAILURE.accessDenied:
      return [
        "give the operator's service account the permission that is named above: apply the manifests or the chart of its version again",
      ];
    case FAILURE.refused:
      return ['change what refuses it, named above, and then retry'];
    case FAILURE.overridden:
      return [
        'find what changes the field, and exempt the objects of the operator; that is noticed within a minute',
        {
          run: 'kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies',
          to: 'show what may change objects as they are written',
        },
      ];
    case FAILURE.apiMissing:
      return ['install what is missing, such as a custom resource definition, and then retry'];
    case FAILURE.unavailable:
      return [
        'look whether the API server, and the webhooks that it calls, are healthy; nothing else is to be done',
      ];
    case FAILURE.otherCluster:
      return [
        'give the operator of each cluster a task queue of its own (--task-queue); until then, more attempts are needed',
      ];
    case FAILURE.conflict:
      return ['look who else writes it all the time: kubectl get … --show-managed-fields'];
    default:
      return ["look into the operator's log"];
  }
}

interface ProblemText {
  readonly because: string;
  readonly advice: readonly Advice[];
}

export const SHOW_OPERATOR: Advice = {
  run: 'kubectl get pods -A -l app.kubernetes.io/name=durable-operator',
  to: 'show the Pods of the operator',
};

/** Why no worker takes up a run, and what to do about it. @param taskQueue of the operator that is asked about */
export function workerProblemText(
  problem: WorkerProblem,
  { taskQueue }: { readonly taskQueue: string },
): ProblemText {
  switch (problem.is) {
    case 'no worker':
      return noWorker(problem.taskQueue, taskQueue);
    case 'not promoted':
      return {
        because: `no worker version is current: the workers of ${problem.versions.join(', ')} get no runs until one is promoted`,
        advice: [promote(problem.versions.at(-1) ?? '')],
      };
    case 'no worker of the current version':
      return {
        because: `${problem.current} is the current version, and it has no workers; there are workers of ${listOf(problem.versions)}`,
        advice: [
          `start workers of ${problem.current}, or promote the version that runs`,
          ...problem.versions.slice(-1).map(promote),
        ],
      };
    case 'no worker of its version':
      return {
        because: `the run stays with ${problem.version}, and no worker of that version is there any more`,
        advice: [
          `start a worker of ${problem.version} again, or move its runs`,
          ...problem.versions.slice(-1).map((version) => moved(version)),
        ],
      };
    default:
      return unreachable(problem);
  }
}

function noWorker(taskQueue: string, own: string): ProblemText {
  const because = `no worker has polled task queue "${taskQueue}" for five minutes`;
  return taskQueue === own
    ? { because, advice: ['start the operator, or find out why it does not run', SHOW_OPERATOR] }
    : {
        because: `${because}; the operator uses task queue "${own}"`,
        advice: [`start a worker with --task-queue ${taskQueue} until this run has ended`],
      };
}

function listOf(versions: readonly string[]): string {
  return versions.length === 0 ? 'no version' : versions.join(', ');
}

function promote(version: string) {
  return { run: `durable-operator promote ${versionFlags(version)}`, to: 'make this version current' };
}

function moved(version: string) {
  return {
    run: `durable-operator promote --move-open-runs ${versionFlags(version)}`,
    to: 'move open runs to the version that runs',
  };
}

function versionFlags(version: string): string {
  const [deployment = '', buildId = ''] = version.split(':');
  return `--worker-deployment ${deployment} --worker-build-id ${buildId}`;
}
