import type { Command } from 'commander';
import { z } from 'zod';
import type { Options } from '../../config/config.ts';
import type { PublishedSettings } from '../../config/published.ts';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../contract/control.ts';
import { isRest, type Held } from '../../contract/decision.ts';
import type { ResourceRef } from '../../contract/resource.ts';
import { heldMessage } from '../../controllers/control/held-message.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { resourcePath } from '../../kubernetes/paths.ts';
import { TemporalProblem } from '../../temporal/temporal-problem.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { annotate, missing, readObject, targetFrom } from '../cluster/objects.ts';
import type { Session } from '../session.ts';
import { optionsOf } from '../controllers.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless } from '../output.ts';
import { argumentsOf, parseNamedResource } from '../resource-name.ts';
import { confirmed } from './confirm.ts';

interface ApprovalOptions extends SharedOptions {
  readonly because?: string;
}

const VERDICTS = {
  approve: { verb: 'Approve', did: 'approved' },
  reject: { verb: 'Reject', did: 'rejected' },
} as const;

type Verdict = keyof typeof VERDICTS;

/** Adds `approve` or `reject`. */
export function addVerdict(verdict: Verdict, program: Command, ask: Ask): void {
  const command = addCommand(program, ask, verdict, 'yes')
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('--because <reason>', 'why, for the history of the resource');
  answerWith<ApprovalOptions>(command, ask, (_, question) => answerPlan(ask, question, verdict));
}

async function answerPlan(
  ask: Ask,
  { session, words, options: asked }: Question<ApprovalOptions>,
  verdict: Verdict,
): Promise<ExitStatus> {
  const { client } = session;
  const { object: named, place } = parseNamedResource(session, words);
  const name = argumentsOf(named);
  const object = (await readObject(client, named)) ?? missing(named);
  const target = targetFrom(object, named.type);
  const ref = { ...place, uid: target.uid };
  const settings = await settingsOf(session);
  const options = optionsOf(session.program, settings);
  const held = await heldNow(ref, { session, options, now: ask.now });
  const plan = held?.plan;
  if (held === undefined || plan === undefined) {
    ask.stderr.write(`${name} does not wait for approval\n`);
    return 1;
  }
  const by = await userNameOf(client);
  ask.stdout.write(`${name}: ${harmless(heldMessage(held))}\n`);
  const { verb, did } = VERDICTS[verdict];
  if (!(await confirmed(ask, `${verb} plan ${plan} as ${by}?`, asked))) return 1;
  const answer = answerTo(plan, { verdict, by, because: asked.because });
  if (!(await annotate(client, target, answer, target.resourceVersion)))
    throw new AskProblem(`${name} has changed in the meantime; check the plan, and repeat the command`);
  ask.stdout.write(`${name} ${did}: plan ${plan}, by ${by}\n`);
  if (settings !== undefined && !options.reconciliation.areApproversChecked) ask.stderr.write(UNCHECKED);
  return 0;
}

const UNCHECKED = `\
Who did is not checked: anybody could have written another name. To have it checked, install the operator with its
ValidatingAdmissionPolicy: kubectl apply --server-side --filename deploy/install.yaml, or the chart.
`;

/** Undefined where the operator cannot be asked. */
function settingsOf(session: Session): Promise<PublishedSettings | undefined> {
  return session.temporal().then(
    (operator) => operator.settings,
    (error: unknown) => {
      if (error instanceof TemporalProblem) return undefined;
      throw error;
    },
  );
}

interface Asking {
  readonly session: Session;
  /** Of the operator. */
  readonly options: Options;
  readonly now: () => number;
}

/** Why a person holds it, by the decision of its controller on what is there now. */
async function heldNow(
  ref: ResourceRef,
  { session: { program, client }, options, now }: Asking,
): Promise<Held | undefined> {
  const { readLive } = await import('../cluster/live.ts');
  const { next } = await readLive(ref, { program, client, options, now });
  return isRest(next) && next.do === 'held' ? next : undefined;
}

interface Answer {
  readonly verdict: Verdict;
  readonly by: string;
  readonly because: string | undefined;
}

/** The annotations of an answer. They replace an earlier one. */
function answerTo(plan: string, { verdict, by, because }: Answer) {
  return {
    [APPROVED_ANNOTATION]: verdict === 'approve' ? plan : null,
    [REJECTED_ANNOTATION]: verdict === 'reject' ? plan : null,
    [ANSWERED_BY_ANNOTATION]: by,
    [ANSWERED_BECAUSE_ANNOTATION]: because ?? null,
  };
}

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string().min(1) }) }) });

/** The API server's name of the user, so that nobody can give another one. @throws ApiError */
async function userNameOf(client: KubernetesClient): Promise<string> {
  const type = { group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews' };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const review = await client.request({ method: 'POST', path: resourcePath(type), body });
  return Review.parse(review).status.userInfo.username;
}
