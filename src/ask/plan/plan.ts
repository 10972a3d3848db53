import type { Command } from 'commander';
import type { PublishedSettings } from '../../config/published.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { readTarget } from '../cluster/targets.ts';
import { addCommand } from '../commands.ts';
import type { Session } from '../connection/session.ts';
import { TemporalProblem } from '../connection/temporal-problem.ts';
import { withConnectionOptions, withOutput, type ConnectionOptions } from '../connection/options.ts';
import { optionsOf } from '../controllers.ts';
import { assumingDefaults, whyNoOperator } from '../operator-words.ts';
import { harmless, paintFor, structured } from '../output.ts';
import { parseNamedResource, placeOf, type NamedResource } from '../resource-name.ts';
import { manifestsIn } from './manifests.ts';
import { dataOf, textOfPlan, type Plan } from './plan-lines.ts';
import { Planner } from './planner.ts';

interface PlanOptions extends ConnectionOptions {
  readonly filename?: string;
  readonly output?: 'json' | 'yaml';
}

export function addPlan(program: Command, ask: Ask): void {
  const command = addCommand(program, 'plan')
    .argument('[resource...]', 'KIND/NAME or KIND NAME')
    .option('-f, --filename <file>', 'as if this file were applied; - for standard input');
  answerWith(withOutput(withConnectionOptions(command), ['json', 'yaml']), ask, answerPlan);
}

/** 1 where there is something to do, as `kubectl diff` has it. */
async function answerPlan(ask: Ask, question: Question<PlanOptions>): Promise<ExitStatus> {
  const { plans, notes } = await plansFor(ask, question);
  const { output } = question.options;
  if (output !== undefined) {
    const data = plans.map(dataOf);
    ask.stdout.write(await structured(data.length === 1 ? data[0] : data, output));
  } else {
    const paint = paintFor(ask);
    ask.stdout.write(plans.map((plan) => textOfPlan(plan, paint)).join('\n'));
    ask.stderr.write('nothing was written: the API server has only tried it, with dryRun=All\n');
  }
  for (const note of notes) ask.stderr.write(`${harmless(note)}\n`);
  return plans.every(isUpToDate) ? 0 : 1;
}

interface Planned {
  readonly plans: readonly Plan[];
  /** What the plans do without, or what keeps them from being carried out; a sentence each. */
  readonly notes: readonly string[];
}

function isUpToDate({ applied, steps, end }: Plan): boolean {
  return applied === undefined && steps.length === 0 && end.is === 'rest' && end.next.do === 'converged';
}

async function plansFor(ask: Ask, { session, words, options }: Question<PlanOptions>): Promise<Planned> {
  const { filename } = options;
  const { client, namespace } = session;
  if ((filename === undefined) === (words.length === 0))
    throw new AskProblem('name a resource, KIND/NAME, or a file, -f FILE');
  const manifests = filename === undefined ? [] : await manifestsIn(filename);
  const resource = filename === undefined ? parseNamedResource(words) : undefined;
  const { settings, note } = await settingsIn(session);
  const planner = new Planner(client, optionsOf(settings), ask.now);
  const plans =
    resource === undefined
      ? await planner.ofFile(manifests, namespace)
      : [await planOf(planner, resource, session)];
  return { plans, notes: [...note, ...planner.notes] };
}

async function planOf(
  planner: Planner,
  resource: NamedResource,
  { client, namespace }: Session,
): Promise<Plan> {
  const { controller, name } = resource;
  const { uid } = await readTarget(client, { type: controller.primary.type, namespace, name });
  return planner.of({ ...placeOf(resource, namespace), uid }, controller);
}

/** A plan is worth something without the operator's options, if who reads it knows. */
async function settingsIn(session: Session): Promise<{
  readonly settings: PublishedSettings | undefined;
  readonly note: readonly string[];
}> {
  const without = (because: string) => ({
    settings: undefined,
    note: [assumingDefaults(because)],
  });
  try {
    const access = await session.temporal();
    const { settings } = access;
    return settings === undefined ? without(whyNoOperator(access)) : { settings, note: [] };
  } catch (error) {
    if (error instanceof TemporalProblem) return without(error.message);
    throw error;
  }
}
