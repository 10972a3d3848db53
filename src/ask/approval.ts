import type { Command } from 'commander';
import { z } from 'zod';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../contract/control.ts';
import { isRest } from '../contract/decision.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ResourceRef } from '../contract/resource.ts';
import { fieldsOf } from '../controllers/fields.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { found } from '../kubernetes/found.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { AskProblem, inSession, type Ask, type ExitStatus } from './ask.ts';
import { ASK_COMMANDS } from './commands.ts';
import { confirmed } from './confirm.ts';
import { withConnectionOptions, type ConnectionOptions } from './connection-options.ts';
import { harmless } from './output.ts';
import { parseNamedResource, placeOf } from './resource-name.ts';
import { controllersOf, optionsOf, type Session } from './session.ts';
import { annotate, fullName, readTarget, type LiveTarget } from './targets.ts';

interface ApprovalOptions extends ConnectionOptions {
  readonly because?: string;
  readonly yes?: boolean;
}

type Verdict = 'approve' | 'reject';

export function addApprove(program: Command, ask: Ask): void {
  add(program, ask, 'approve');
}

export function addReject(program: Command, ask: Ask): void {
  add(program, ask, 'reject');
}

function add(program: Command, ask: Ask, verdict: Verdict): void {
  const command = program
    .command(verdict)
    .description(ASK_COMMANDS[verdict])
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('--because <reason>', 'why, for the history of the resource')
    .option('-y, --yes', 'do not ask');
  withConnectionOptions(command).action((words: string[], options: ApprovalOptions) =>
    inSession(ask, options, (session) => answerApproval(ask, { session, words, options, verdict })),
  );
}

interface Question {
  readonly session: Session;
  readonly words: readonly string[];
  readonly options: ApprovalOptions;
  readonly verdict: Verdict;
}

async function answerApproval(ask: Ask, { session, words, options, verdict }: Question): Promise<ExitStatus> {
  const resource = parseNamedResource(words, controllersOf(await session.settings()));
  const { type } = resource.controller.primary;
  const { client, namespace } = session;
  const target = await readTarget(client, { type, namespace, name: resource.name });
  const ref = { ...placeOf(resource, namespace), uid: target.uid };
  const pending = pendingApproval(
    (await conditionOf(client, target)) ?? (await heldWords(ref, session, ask.now)),
  );
  if (pending === undefined) {
    ask.stderr.write(`${fullName(target)} does not wait for an approval\n`);
    return 1;
  }
  const by = await userNameOf(client);
  ask.stdout.write(`${fullName(target)}: ${harmless(pending.words)}\n`);
  const question =
    verdict === 'approve'
      ? `Approve plan ${pending.plan} as ${by}?`
      : `Reject plan ${pending.plan} as ${by}?`;
  if (!(await confirmed(ask, question, options.yes === true))) return 1;
  const { because } = options;
  const isWritten = await annotate(
    client,
    target,
    verdictOn(pending.plan, { verdict, by, because }),
    target.resourceVersion,
  );
  if (!isWritten)
    throw new AskProblem(`${fullName(target)} has changed meanwhile; look again, and repeat the command`);
  ask.stdout.write(
    `${fullName(target)} ${verdict === 'approve' ? 'approved' : 'rejected'}: plan ${pending.plan}, by ${by}\n`,
  );
  return 0;
}

/** A plan that waits for an answer. */
export interface PendingApproval {
  /** `290-3f9c2a1b` */
  readonly plan: string;
  /** What it would delete, in words. */
  readonly words: string;
}

/**
 * The plan that a resource waits for an approval of.
 *
 * @param said the message of the condition `AwaitingApproval` where it is True, or what its controller decides
 */
export function pendingApproval(said: string | undefined): PendingApproval | undefined {
  const [, plan] = /\bplan (\d{1,9}-[0-9a-f]{8})\b/.exec(said ?? '') ?? [];
  return said === undefined || plan === undefined ? undefined : { plan, words: said };
}

/** Undefined where nothing is awaited. */
async function conditionOf(client: KubernetesClient, target: LiveTarget): Promise<string | undefined> {
  const path = resourcePath(target.type, target);
  const object = await found(client.request<KubernetesObject>({ method: 'GET', path }));
  return conditionMessage(object?.['status']);
}

const Conditions = z.array(z.object({ type: z.string(), status: z.string(), message: z.string() }).partial());

export function conditionMessage(status: unknown): string | undefined {
  const { data = [] } = Conditions.safeParse(fieldsOf(status)['conditions']);
  return data.find((condition) => condition.type === 'AwaitingApproval' && condition.status === 'True')
    ?.message;
}

/** Of a resource without a status, its controller's own decision. */
async function heldWords(ref: ResourceRef, session: Session, now: () => number): Promise<string | undefined> {
  const { readLive } = await import('./live.ts');
  const { next } = await readLive(ref, {
    client: session.client,
    options: optionsOf(await session.settings()),
    now,
  });
  if (!isRest(next) || next.do !== 'held' || next.plan === undefined) return undefined;
  return `${next.because}; held is ${next.would}; plan ${next.plan}`;
}

interface Said {
  readonly verdict: Verdict;
  readonly by: string;
  readonly because: string | undefined;
}

/** An answer replaces the one before. */
export function verdictOn(plan: string, { verdict, by, because }: Said) {
  return {
    [APPROVED_ANNOTATION]: verdict === 'approve' ? plan : null,
    [REJECTED_ANNOTATION]: verdict === 'reject' ? plan : null,
    [ANSWERED_BY_ANNOTATION]: by,
    [ANSWERED_BECAUSE_ANNOTATION]: because ?? null,
  };
}

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string().min(1) }) }) });

/** As the API server knows the user: nobody can type another name. @throws ApiError */
async function userNameOf(client: KubernetesClient): Promise<string> {
  const type = { group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews' };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const review = await client.request({ method: 'POST', path: resourcePath(type), body });
  return Review.parse(review).status.userInfo.username;
}
