import type { Advice } from '../../contract/words.ts';
import { unreachable } from '../../contract/unreachable.ts';
import type { ApiError } from '../../kubernetes/errors.ts';
import { serversWords } from '../output.ts';
import { nameOfKind, titleOf, typeNameOf } from '../resource-name.ts';
import type { Run } from '../runs/runs.ts';
import { workerProblem } from '../runs/workers.ts';
import { explainAtRest } from './at-rest.ts';
import type { Explanation } from './explanation.ts';
import { ago, commandOn, lastRun, nextFact, wantedAndThere, WITHOUT_OPTIONS } from './facts.ts';
import { objectNameOf, type Findings, type Reached } from './findings.ts';
import { workerProblemText } from './general-advice.ts';
import { explainOpenRun } from './open-run.ts';

/** Why a resource is as it is, and what a person can do. Pure. */
export function explain(findings: Findings): Explanation {
  const { cluster, temporal } = findings;
  if (temporal.is === 'away') return withoutTemporal(findings, temporal.problem);
  switch (cluster.is) {
    case 'unreadable':
      return unreadable(findings, cluster.error);
    case 'gone':
      return gone(findings, temporal);
    case 'there': {
      const known = { ...findings, cluster, temporal };
      const { run } = temporal;
      return run?.isOpen === true ? explainOpenRun({ ...known, run }) : explainAtRest(known);
    }
    default:
      return unreachable(cluster);
  }
}

function withoutTemporal(findings: Findings, problem: string): Explanation {
  return {
    resource: titleOf(objectNameOf(findings)),
    state: undefined,
    headline: 'cannot be explained without Temporal',
    facts: [
      { label: 'because', text: problem },
      ...wantedAndThere(findings),
      ...nextFact(findings, WITHOUT_OPTIONS),
    ],
    advice: [
      'check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the credentials; the operator may have others, and may be fine',
      'if Temporal itself is down, nothing is reconciled until it is back, and no change is lost',
      {
        run: 'kubectl port-forward -n temporal service/temporal-frontend 7233',
        to: 'reach a Temporal that runs in the cluster',
      },
    ],
    exit: 2,
  };
}

function unreadable(findings: Findings, error: ApiError): Explanation {
  const { type } = findings.controller.primary;
  const resource = titleOf(objectNameOf(findings));
  if (error.classification !== 'api-missing') {
    return {
      resource,
      state: undefined,
      headline: 'cannot be read',
      facts: [{ label: 'because', text: serversWords(error.message) }],
      advice: [`ask for the permission to get ${typeNameOf(type)}`],
      exit: 2,
    };
  }
  return {
    resource,
    state: undefined,
    headline: `cannot exist: the cluster does not know the kind ${type.kind}`,
    facts: [
      { label: 'because', text: `the custom resource definition ${typeNameOf(type)} is not installed` },
      { label: 'meanwhile', text: 'the operator looks for it again and again; its other controllers run' },
    ],
    advice: [
      'install the custom resource definitions, with the chart or from a checkout of the operator',
      { run: 'kubectl apply --filename deploy/crd', to: 'install them from a checkout' },
    ],
    exit: 1,
  };
}

function gone(findings: Findings, reached: Reached): Explanation {
  const { run, timeline } = reached;
  if (run === undefined) return neverSeen(findings);
  if (run.isOpen) return goneWithOpenRun(findings, { ...reached, run });
  return {
    resource: titleOf(objectNameOf(findings)),
    state: undefined,
    headline: 'is gone: it was deleted',
    facts: lastRun({ run, timeline, nowMs: findings.nowMs }),
    advice: [whatHappened(findings)],
    link: findings.link,
    exit: 1,
  };
}

function neverSeen(findings: Findings): Explanation {
  const { controller, place } = findings;
  const { kind, namespaced } = controller.primary.type;
  const list = `kubectl durable get ${nameOfKind(controller)}${namespaced ? ` -n ${place.namespace}` : ''}`;
  return {
    resource: titleOf(objectNameOf(findings)),
    state: undefined,
    headline: 'does not exist',
    facts: [
      {
        label: 'because',
        text: `the cluster has no such ${kind}, and Temporal has no run of one of that name, as far back as it keeps them`,
      },
    ],
    advice: [{ run: list, to: 'list those that exist' }],
    exit: 1,
  };
}

function goneWithOpenRun(
  findings: Findings,
  { run, workers, taskQueue }: Reached & { readonly run: NonNullable<Reached['run']> },
): Explanation {
  const problem = workerProblem(workers, run);
  const { because, advice } = problem ? workerProblemText(problem, { taskQueue }) : untilItEnds(run);
  return {
    resource: titleOf(objectNameOf(findings)),
    state: undefined,
    headline: 'is gone, but its run is still open',
    facts: [
      { label: 'run', text: `open for ${ago(run.startedAtMs, findings.nowMs)}` },
      { label: 'because', text: because },
    ],
    advice: [...advice, whatHappened(findings)],
    link: findings.link,
    exit: 1,
  };
}

function untilItEnds({ pause }: Pick<Run, 'pause'>): { because: string; advice: readonly Advice[] } {
  if (pause === undefined)
    return { because: 'the operator ends it once it sees that the resource is gone', advice: [] };
  return {
    because: `paused in Temporal ${pause.words}`,
    advice: [{ run: pause.undo, to: 'end the pause' }],
  };
}

function whatHappened(findings: Findings): Advice {
  return commandOn(findings, 'history', 'what happened to it');
}
