import type { Command } from 'commander';
import type { Controller } from '../contract/controller.ts';
import { displayName } from '../contract/resource.ts';
import { AskProblem, inSession, type Ask, type ExitStatus } from './ask.ts';
import { ASK_COMMANDS } from './commands.ts';
import { confirmed } from './confirm.ts';
import { withAllNamespaces, withConnectionOptions, type ConnectionOptions } from './connection-options.ts';
import { harmless } from './output.ts';
import { requestReconcile } from './reconcile.ts';
import { commandFor, parseResource, placeOf, type ResourceName } from './resource-name.ts';
import type { PendingStep } from './run-story.ts';
import { bounded, describeRun, openRuns, type ListedRun, type Run } from './runs.ts';
import { controllersOf, type Session } from './session.ts';
import { fullName, readTarget, type Target } from './targets.ts';

interface RetryOptions extends ConnectionOptions {
  readonly step?: string;
  readonly failure?: string;
  readonly yes?: boolean;
}

export function addRetry(program: Command, ask: Ask): void {
  const command = program
    .command('retry')
    .description(ASK_COMMANDS.retry)
    .argument('[resource...]', 'KIND/NAME, or KIND for all of them; default: whatever is in backoff')
    .option('--step <name>', 'only where this step is failing, such as createJob')
    .option('--failure <type>', 'only where it fails like this, such as Refused or AccessDenied')
    .option('-y, --yes', 'do not ask, where it concerns many');
  withAllNamespaces(withConnectionOptions(command)).action((words: string[], options: RetryOptions) =>
    inSession(ask, options, (session) => answerRetry(ask, { session, words, options })),
  );
}

interface Question {
  readonly session: Session;
  readonly words: readonly string[];
  readonly options: RetryOptions;
}

const AT_A_TIME = 16;

async function answerRetry(ask: Ask, question: Question): Promise<ExitStatus> {
  const { session, words } = question;
  const controllers = controllersOf(await session.settings());
  const resource = words.length === 0 ? undefined : parseResource(words, controllers);
  const backoffs = await backoffsOf(question, { controllers, resource });
  if (backoffs.length === 0) return nothingToRetry(ask, question, resource);
  for (const backoff of backoffs) ask.stdout.write(`${backoffText(backoff)}\n`);
  const count = backoffs.length === 1 ? '1 resource' : `${backoffs.length} resources`;
  const isNamed = resource?.name !== undefined;
  if (!isNamed && !(await confirmed(ask, `Retry ${count} now?`, question.options.yes === true))) return 1;
  const retried = await bounded(backoffs, AT_A_TIME, (backoff) => retry(ask, session, backoff));
  ask.stdout.write(`retried: ${retried.filter(Boolean).length} of ${count}\n`);
  return retried.every(Boolean) ? 0 : 1;
}

/** A resource whose step failed and is due again only later. */
export interface Backoff {
  readonly run: Run;
  readonly pending: PendingStep;
  readonly controller: Controller;
}

interface Scope {
  readonly controllers: readonly Controller[];
  /** Undefined: of any kind. */
  readonly resource: ResourceName | undefined;
}

async function backoffsOf(question: Question, scope: Scope): Promise<readonly Backoff[]> {
  const access = await question.session.temporal();
  const runs = await runsIn(question, scope);
  const described = await bounded(runs, AT_A_TIME, ({ ref, runId }) => describeRun(access, ref, runId));
  return described.flatMap((run) => {
    const controller = scope.controllers.find(({ name }) => name === run?.ref.controller);
    const pending =
      run?.isOpen === true ? run.pending.find((step) => isAskedFor(step, question.options)) : undefined;
    return run && pending && controller ? [{ run, pending, controller }] : [];
  });
}

/** In backoff is what has failed; an attempt that is in progress is ended by its change as well. */
export function isAskedFor(
  { step, failure }: Pick<PendingStep, 'step' | 'failure'>,
  { step: asked, failure: type }: Pick<RetryOptions, 'step' | 'failure'>,
): boolean {
  if (failure === undefined) return false;
  if (asked !== undefined && step.toLowerCase() !== asked.toLowerCase()) return false;
  return type === undefined || failure.type?.toLowerCase() === type.toLowerCase();
}

async function runsIn(
  { session, options }: Question,
  { resource }: Scope,
): Promise<readonly Pick<ListedRun, 'ref' | 'runId'>[]> {
  const access = await session.temporal();
  if (resource?.name !== undefined) {
    const { controller, name } = resource;
    const { type } = controller.primary;
    const { uid } = await readTarget(session.client, { type, namespace: session.namespace, name });
    const latest = await describeRun(access, { ...placeOf({ controller, name }, session.namespace), uid });
    return latest ? [latest] : [];
  }
  const namespace = options.allNamespaces === true ? undefined : session.namespace;
  return openRuns(access, { controller: resource?.controller.name, namespace });
}

function nothingToRetry(
  ask: Ask,
  { session, options }: Question,
  resource: ResourceName | undefined,
): ExitStatus {
  const only = [
    ...(options.step === undefined ? [] : [` at step ${options.step}`]),
    ...(options.failure === undefined ? [] : [` because of ${options.failure}`]),
  ].join('');
  if (resource?.name === undefined) {
    const where = options.allNamespaces === true ? '' : ` in namespace ${session.namespace}`;
    ask.stderr.write(`nothing${where} is in backoff${only}\n`);
    return 1;
  }
  const { controller, name } = resource;
  const place = placeOf({ controller, name }, session.namespace);
  ask.stderr.write(
    `${controller.primary.type.kind} ${displayName({ ...place, uid: '' })} is not in backoff${only}; for a reconcile anyway: ${commandFor('reconcile', place, controller)}\n`,
  );
  return 1;
}

function backoffText({ run, pending, controller }: Backoff): string {
  const { step, attempt, failure } = pending;
  const why = [failure?.type, failure?.message]
    .filter((words) => words !== undefined && words !== '')
    .join(': ');
  return harmless(`${fullName(targetOf(run, controller))}: ${step}, attempt ${attempt}, ${why}`);
}

function targetOf({ ref }: Run, { primary: { type } }: Controller): Target {
  return { type, namespace: type.namespaced ? ref.namespace : undefined, name: ref.name, uid: ref.uid };
}

async function retry(ask: Ask, session: Session, { run, controller }: Backoff): Promise<boolean> {
  try {
    await requestReconcile(ask, session, targetOf(run, controller));
    return true;
  } catch (error) {
    if (!(error instanceof AskProblem)) throw error;
    ask.stderr.write(`${error.message}\n`);
    return false;
  }
}
