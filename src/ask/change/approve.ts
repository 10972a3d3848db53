import type { Command } from 'commander';
import { z } from 'zod';
import type { Options } from '../../config/config.ts';
import type { PublishedSettings } from '../../config/published.ts';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../api/annotations.ts';
import { isRest, type Held } from '../../runs/decision.ts';
import type { ResourceRef } from '../../api/resource-ref.ts';
import { heldMessage } from '../../engine/holds/held-message.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { resourcePath } from '../../kubernetes/paths.ts';
import { TemporalProblem } from '../../temporal/temporal-problem.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { bounded } from '../../temporal/bounded.ts';
import { annotate } from '../cluster/objects.ts';
import type { Session } from '../session.ts';
import { optionsOf } from '../controllers.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless } from '../output.ts';
import { argumentsOf, namedResource } from '../resource-name.ts';
import { confirmed } from './confirm.ts';
import { targetsOf, type NamedTarget } from './targets.ts';

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
  const command = addCommand(program, ask, verdict, 'allNamespaces', 'selector', 'yes')
    .argument('<resource...>', 'KIND/NAME, one or several; KIND for all of its resources')
    .option('--because <reason>', 'why, for the history of the resource');
  answerWith<ApprovalOptions>(command, ask, (_, question) => answerPlans(ask, question, verdict));
}

/** What waits for approval, as one controller of the resource has decided. */
interface Waiting {
  readonly target: NamedTarget;
  readonly name: string;
  readonly held: Held & { readonly plan: string };
}

const AT_A_TIME = 16;

async function answerPlans(
  ask: Ask,
  question: Question<ApprovalOptions>,
  verdict: Verdict,
): Promise<ExitStatus> {
  const { session, options: asked } = question;
  const { client } = session;
  const { targets, isBatch } = await targetsOf(question);
  const settings = await settingsOf(session);
  const options = optionsOf(session.program, settings);
  const found = await bounded(targets, AT_A_TIME, (target) =>
    waitingIn(target, { session, options, now: ask.now }),
  );
  const waiting = found.flat();
  const idle = targets.filter((_, index) => found[index]?.length === 0);
  if (!isBatch)
    for (const each of idle) ask.stderr.write(`${argumentsOf(each)} does not wait for approval\n`);
  else if (waiting.length === 0) ask.stderr.write('nothing waits for approval\n');
  const [first, ...more] = waiting;
  if (first === undefined) return 1;
  const by = await userNameOf(client);
  for (const { name, held } of waiting) ask.stdout.write(`${name}: ${harmless(heldMessage(held))}\n`);
  requireOneEach(waiting);
  const { verb, did } = VERDICTS[verdict];
  const what = more.length === 0 ? `plan ${first.held.plan}` : `${waiting.length} plans`;
  if (!(await confirmed(ask, `${verb} ${what} as ${by}?`, asked))) return 1;
  const written = await bounded(waiting, AT_A_TIME, async ({ target, name, held: { plan } }) => {
    const answer = answerTo(plan, { verdict, by, because: asked.because });
    if (await annotate(client, target, answer, target.resourceVersion)) {
      ask.stdout.write(`${name} ${did}: plan ${plan}, by ${by}\n`);
      return true;
    }
    ask.stderr.write(`${name} has changed in the meantime; check the plan, and repeat the command\n`);
    return false;
  });
  if (settings !== undefined && !options.reconciliation.areApproversChecked) ask.stderr.write(UNCHECKED);
  return written.every(Boolean) && (isBatch || idle.length === 0) ? 0 : 1;
}

/** An annotation holds one answer. @throws AskProblem */
function requireOneEach(waiting: readonly Waiting[]): void {
  const twice = waiting.find(
    ({ target }, place) => waiting.findIndex((each) => each.target === target) !== place,
  );
  if (twice === undefined) return;
  const { controllers, name } = twice.target;
  const names = controllers.map((controller) => `${controller.name}/${name}`).join(' or ');
  throw new AskProblem(
    `${argumentsOf(twice.target)} waits for two plans; answer one after the other: ${names}`,
  );
}

async function waitingIn(target: NamedTarget, asking: Asking): Promise<readonly Waiting[]> {
  const { namespace } = asking.session;
  const { controllers, uid } = target;
  const resources = controllers.map((each) =>
    namedResource(each, target.name, target.namespace ?? namespace),
  );
  const decided = await Promise.all(resources.map(({ place }) => heldNow({ ...place, uid }, asking)));
  return decided.flatMap((held, index): Waiting[] => {
    const { plan } = held ?? {};
    if (held === undefined || plan === undefined) return [];
    const suffix = controllers.length === 1 ? '' : ` (${controllers[index]?.name ?? ''})`;
    return [{ target, name: `${argumentsOf(target)}${suffix}`, held: { ...held, plan } }];
  });
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
