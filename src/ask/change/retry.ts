import type { Command } from 'commander';
import { stillOpen } from '../../temporal/open-runs.ts';
import type { Controller } from '../../engine/controller.ts';
import { RETRYING } from '../../runs/search-attributes.ts';
import type { Run, RunReader } from '../../temporal/run-reader.ts';
import { failedStepIn, lastNextOf, type PendingStep } from '../../temporal/timeline.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { bounded } from '../../temporal/bounded.ts';
import { readTarget, type ObjectName, type Target } from '../cluster/objects.ts';
import { configuredControllers } from '../controllers.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless } from '../output.ts';
import {
  argumentsOf,
  commandFor,
  namedResources,
  parseResource,
  titleOf,
  type NamedResource,
} from '../resource-name.ts';
import { confirmed } from './confirm.ts';
import { requestReconcile } from './reconcile.ts';

export function addRetry(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'retry', 'allNamespaces', 'yes').argument(
    '[resource...]',
    'KIND/NAME, or KIND for all of them; default: whatever is in backoff',
  );
  answerWith(command, ask, answerRetry);
}

const WRITES_AT_A_TIME = 16;
const READS_AT_A_TIME = 16;
const NOTHING_NAMED = { controllers: undefined, name: undefined };

async function answerRetry(ask: Ask, question: Question<SharedOptions>): Promise<ExitStatus> {
  const { session, words, options } = question;
  const { controllers, name } = words.length === 0 ? NOTHING_NAMED : parseResource(ask.program, words);
  const named = controllers && name !== undefined ? namedResources(controllers, name, session.namespace) : [];
  const isNamed = named.length > 0;
  const found = isNamed
    ? named.map((each) => latestRunOf(question, each))
    : (controllers ?? [undefined]).map((each) => openRunsOf(question, each));
  const runs = (await Promise.all(found)).flat();
  const all = configuredControllers(ask.program);
  const { runs: reader } = await session.temporal();
  const read = await bounded(runs, READS_AT_A_TIME, (run) => backoffOf(reader, { all, run, isNamed }));
  const backoffs = read.flatMap((backoff) => backoff ?? []);
  if (backoffs.length === 0) return nothingToRetry(ask, question, named[0]?.object);
  for (const backoff of backoffs) ask.stdout.write(`${backoffText(backoff)}\n`);
  const count = backoffs.length === 1 ? '1 resource' : `${backoffs.length} resources`;
  if (!isNamed && !(await confirmed(ask, `Retry ${count} now?`, options))) return 1;
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

async function latestRunOf(
  { session, options }: Question<SharedOptions>,
  { object, place }: NamedResource,
): Promise<readonly Run[]> {
  if (options.allNamespaces === true)
    throw new AskProblem(`-A and the name "${object.name}" exclude each other; leave one out`);
  const { uid } = await readTarget(session.client, object);
  const { runs } = await session.temporal();
  const latest = await runs.describe({ ...place, uid });
  return latest?.isOpen === true ? [latest] : [];
}

async function openRunsOf(
  { session, options }: Question<SharedOptions>,
  controller: Controller | undefined,
): Promise<readonly Run[]> {
  const { runs, taskQueue, cluster } = await session.temporal();
  const namespace = options.allNamespaces === true ? undefined : session.namespace;
  const filter = { taskQueue, cluster, controller: controller?.name, namespace };
  return stillOpen(runs, await runs.listOpen(filter));
}

/** A step that has failed and is due again later. */
interface Backoff {
  readonly target: Target;
  readonly failed: Pick<PendingStep, 'step' | 'failure'> & Partial<Pick<PendingStep, 'attempt'>>;
}

interface Asked {
  readonly all: readonly Controller[];
  readonly run: Run;
  readonly isNamed: boolean;
}

/** A failed step counts even while its next attempt is in progress, which a retry ends. */
async function backoffOf(reader: RunReader, { all, run, isNamed }: Asked): Promise<Backoff | undefined> {
  const { ref } = run;
  const type = all.find(({ name }) => name === ref.controller)?.primary.type;
  const failed =
    run.pending.find(({ failure }) => failure !== undefined) ?? (await failedIn(reader, run, isNamed));
  if (failed === undefined || type === undefined) return undefined;
  const namespace = type.namespaced ? ref.namespace : undefined;
  return { target: { type, namespace, name: ref.name, uid: ref.uid }, failed };
}

/** Where the run itself waits for the next attempt, or because something is wrong, its history says what has failed. */
async function failedIn(
  reader: RunReader,
  run: Run,
  isNamed: boolean,
): Promise<Backoff['failed'] | undefined> {
  if (run.runState === undefined && isNamed) {
    const next = lastNextOf(await reader.endOfTimeline(run));
    if (next?.do !== 'wait' || next.cause === undefined) return undefined;
    const { reason: type, message } = next.cause;
    return { step: `waiting for ${next.for ?? next.because}`, failure: { type, message } };
  }
  if (run.runState !== RETRYING) return undefined;
  const { step, attempts, failure } = failedStepIn(await reader.endOfTimeline(run)) ?? {};
  return step === undefined ? undefined : { step, attempt: attempts ?? 1, failure };
}

function nothingToRetry(
  ask: Ask,
  { session, options }: Question<SharedOptions>,
  named: ObjectName | undefined,
): ExitStatus {
  if (named === undefined) {
    const where = options.allNamespaces === true ? '' : ` in namespace ${session.namespace}`;
    ask.stderr.write(`nothing${where} is in backoff\n`);
    return 1;
  }
  const anyway = commandFor('reconcile', named);
  ask.stderr.write(`${titleOf(named)} is not in backoff; to reconcile it anyway: ${anyway}\n`);
  return 1;
}

function backoffText({ target, failed }: Backoff): string {
  const { step, attempt, failure } = failed;
  const why = [failure?.type, failure?.message].filter(Boolean).join(': ');
  const often = attempt === undefined ? '' : `, attempt ${attempt}`;
  return harmless(`${argumentsOf(target)}: ${step}${often}, ${why}`);
}
