import { typeNameOf } from '../../api/resource-type.ts';
import { unreachable } from '../../api/unreachable.ts';
import type { ApiError } from '../../kubernetes/errors.ts';
import { nameOfKind, titleOf } from '../resource-name.ts';
import { isWell } from '../state.ts';
import { workerProblem, type AdvisedProblem } from './advice.ts';
import { explainAtRest } from './at-rest.ts';
import { facts, type Explanation } from './explanation.ts';
import {
  ago,
  commandOn,
  lastRun,
  nextFact,
  desiredAndCurrent,
  WITHOUT_OPTIONS,
  type ExplanationBody,
} from './facts.ts';
import { objectNameOf, type ResourceFindings, type Reached } from './findings.ts';
import { explainOpenRun } from './open-run.ts';

/** Explains the state of a resource, and what a person can do. Pure. */
export function explain(findings: ResourceFindings): Explanation {
  const answer = answerFrom(findings);
  const exit = isWell({ state: answer.state, cause: answer.reason }) ? 0 : 1;
  return { resource: titleOf(objectNameOf(findings)), exit, ...answer };
}

function answerFrom(findings: ResourceFindings): ExplanationBody {
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

function withoutTemporal(findings: ResourceFindings, problem: string): ExplanationBody {
  return {
    headline: 'cannot be explained without Temporal',
    facts: [
      ...facts({ because: problem }),
      ...desiredAndCurrent(findings),
      ...nextFact(findings, WITHOUT_OPTIONS),
    ],
    advice: [
      'check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the credentials; the operator may have other values, and may work',
      'if Temporal itself is down, nothing is reconciled until it is back, and no change is lost',
      {
        run: 'kubectl port-forward -n temporal service/temporal-frontend 7233',
        to: 'reach a Temporal that runs in the cluster',
      },
    ],
    exit: 2,
  };
}

function unreadable({ controller }: ResourceFindings, error: ApiError): ExplanationBody {
  const { type } = controller.primary;
  if (error.classification !== 'api-missing') {
    return {
      headline: 'cannot be read',
      facts: facts({ because: error.words }),
      advice: [`ask for the permission to get ${typeNameOf(type)}`],
      exit: 2,
    };
  }
  return {
    headline: `cannot exist: the cluster does not know the kind ${type.kind}`,
    facts: facts({
      because: `the custom resource definition ${typeNameOf(type)} is not installed`,
      meanwhile: 'the operator checks for it regularly; its other controllers run',
    }),
    advice: [
      'install the custom resource definitions, with the chart or from a checkout of the operator',
      { run: 'kubectl apply --filename deploy/crd', to: 'install them from a checkout' },
    ],
  };
}

function gone(findings: ResourceFindings, temporal: Reached): ExplanationBody {
  const { nowMs, link } = findings;
  const { run, timeline, workers, noWatcher } = temporal;
  if (run === undefined) return neverSeen(findings);
  const history = commandOn(findings, 'history', 'what happened to it');
  if (!run.isOpen) {
    const last = lastRun({ run, timeline, nowMs });
    return { headline: 'is gone: it was deleted', facts: last, advice: [history], link };
  }
  const { message, advice } = workerProblem(workers, run, temporal) ?? noWatcher ?? untilItEnds(run);
  return {
    headline: 'is gone, but its run is still open',
    facts: facts({ run: `open for ${ago(run.startedAtMs, nowMs)}`, because: message }),
    advice: [...advice, history],
    link,
  };
}

function untilItEnds({ pause }: NonNullable<Reached['run']>): AdvisedProblem {
  return pause === undefined
    ? { message: 'the operator ends it once it sees that the resource is gone', advice: [] }
    : { message: `paused in Temporal ${pause.words}`, advice: [{ run: pause.undo, to: 'end the pause' }] };
}

function neverSeen({ controller, place }: ResourceFindings): ExplanationBody {
  const { type } = controller.primary;
  const { kind, namespaced } = type;
  const list = `kubectl durable get ${nameOfKind(type)}${namespaced ? ` -n ${place.namespace}` : ''}`;
  const text = `the cluster has no such ${kind}, and Temporal has no run for that name`;
  return {
    headline: 'does not exist',
    facts: facts({ because: text }),
    advice: [{ run: list, to: 'list those that exist' }],
  };
}
