import type { Command } from 'commander';
import type { Controller } from '../../contract/controller.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { bounded } from '../bounded.ts';
import { readTarget, type Target } from '../cluster/targets.ts';
import { addCommand } from '../commands.ts';
import { withAllNamespaces, withConnectionOptions, type ConnectionOptions } from '../connection/options.ts';
import { controllersOf } from '../controllers.ts';
import { harmless } from '../output.ts';
import {
  argumentsOf,
  commandFor,
  parseResource,
  placeOf,
  titleOf,
  type NamedResource,
  type ResourceName,
} from '../resource-name.ts';
import { describeRun, describeRuns, listOpenRuns, type Run } from '../runs/runs.ts';
import type { PendingStep } from '../runs/timeline.ts';
import { confirmed, withYes, type ConfirmOptions } from './confirm.ts';
import { requestReconcile } from './reconcile.ts';

interface RetryOptions extends ConnectionOptions, ConfirmOptions {
  readonly step?: string;
  readonly failure?: string;
}

export function addRetry(program: Command, ask: Ask): void {
  const command = addCommand(program, 'retry')
    .argument('[resource...]', 'KIND/NAME, or KIND for all of them; default: whatever is in backoff')
    .option('--step <name>', 'only where this step is failing, such as createJob')
    .option('--failure <type>', 'only where it fails like this, such as Refused or AccessDenied');
  const withOptions = withAllNamespaces(
    withConnectionOptions(withYes(command, 'do not ask, where it concerns many')),
  );
  answerWith(withOptions, ask, answerRetry);
}

const WRITES_AT_A_TIME = 16;

async function answerRetry(ask: Ask, question: Question<RetryOptions>): Promise<ExitStatus> {
  const { session, words, options } = question;
  const resource = words.length === 0 ? undefined : parseResource(words);
  const backoffs = backoffsIn(await runsOf(question, resource), options);
  if (backoffs.length === 0) return nothingToRetry(ask, question, resource);
  for (const backoff of backoffs) ask.stdout.write(`${backoffText(backoff)}\n`);
  const count = backoffs.length === 1 ? '1 resource' : `${backoffs.length} resources`;
  if (!isNamed(resource) && !(await confirmed(ask, `Retry ${count} now?`, options))) return 1;
  const retried = await bounded(backoffs, WRITES_AT_A_TIME, async ({ target }) => {
    try {
      await requestReconcile(ask, session, target);
      return true;
    } catch (error) {
      if (!(error instanceof AskProblem)) throw error;
      ask.stderr.write(`${error.message}\n`);
      return false;
    }
  });
  ask.stdout.write(`retried: ${retried.filter(Boolean).length} of ${count}\n`);
  return retried.every(Boolean) ? 0 : 1;
}

function isNamed(resource: ResourceName | undefined): resource is NamedResource {
  return resource?.name !== undefined;
}

/** Those that may be in backoff. */
async function runsOf(
  { session, options }: Question<RetryOptions>,
  resource: ResourceName | undefined,
): Promise<readonly Run[]> {
  const isEverywhere = options.allNamespaces === true;
  if (isNamed(resource)) {
    const { controller, name } = resource;
    if (isEverywhere) throw new AskProblem(`-A and the name "${name}" exclude each other; leave one out`);
    const named = { type: controller.primary.type, namespace: session.namespace, name };
    const { uid } = await readTarget(session.client, named);
    const ref = { ...placeOf(resource, session.namespace), uid };
    const latest = await describeRun(await session.temporal(), ref);
    return latest ? [latest] : [];
  }
  const access = await session.temporal();
  const namespace = isEverywhere ? undefined : session.namespace;
  return describeRuns(
    access,
    await listOpenRuns(access, { controller: resource?.controller.name, namespace }),
  );
}

/** A resource whose step failed and is due again only later. */
interface Backoff {
  readonly target: Target;
  readonly pending: PendingStep;
}

function backoffsIn(runs: readonly Run[], options: RetryOptions): readonly Backoff[] {
  const controllers = controllersOf();
  return runs.flatMap((run) => {
    const controller = controllers.find(({ name }) => name === run.ref.controller);
    const pending = run.isOpen ? run.pending.find((step) => isAskedFor(step, options)) : undefined;
    return pending && controller ? [{ target: targetOf(run, controller), pending }] : [];
  });
}

function targetOf({ ref }: Run, { primary: { type } }: Controller): Target {
  return { type, namespace: type.namespaced ? ref.namespace : undefined, name: ref.name, uid: ref.uid };
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

function nothingToRetry(
  ask: Ask,
  { session, options }: Question<RetryOptions>,
  resource: ResourceName | undefined,
): ExitStatus {
  const only = [
    ...(options.step === undefined ? [] : [` at step ${options.step}`]),
    ...(options.failure === undefined ? [] : [` because of ${options.failure}`]),
  ].join('');
  if (!isNamed(resource)) {
    const where = options.allNamespaces === true ? '' : ` in namespace ${session.namespace}`;
    ask.stderr.write(`nothing${where} is in backoff${only}\n`);
    return 1;
  }
  const { controller, name } = resource;
  const named = { type: controller.primary.type, namespace: session.namespace, name };
  ask.stderr.write(
    `${titleOf(named)} is not in backoff${only}; for a reconcile anyway: ${commandFor('reconcile', named)}\n`,
  );
  return 1;
}

function backoffText({ target, pending }: Backoff): string {
  const { step, attempt, failure } = pending;
  const why = [failure?.type, failure?.message].filter((words) => words !== undefined && words !== '');
  return harmless(`${argumentsOf(target)}: ${step}, attempt ${attempt}, ${why.join(': ')}`);
}
