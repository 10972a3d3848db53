import type { Command } from 'commander';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { readTarget } from '../cluster/objects.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { TemporalProblem } from '../../temporal/temporal-problem.ts';
import type { Session } from '../session.ts';
import { optionsOf } from '../controllers.ts';
import { assumingDefaults, whyNoOperator } from '../operator-words.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless, oneOrAll, paintFor, structured } from '../output.ts';
import { parseNamedResource, type NamedResource } from '../resource-name.ts';
import { manifestsOfFile } from './manifests.ts';
import { planData, textOfPlan, type Plan } from './plan-lines.ts';
import { Planner } from './planner.ts';

interface PlanOptions extends SharedOptions {
  readonly filename?: string;
  readonly output?: 'json' | 'yaml';
}

export function addPlan(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'plan', 'data')
    .argument('[resource...]', 'KIND/NAME or KIND NAME')
    .option('-f, --filename <file>', 'as if this file were applied; - for standard input');
  answerWith(command, ask, answerPlan);
}

/** The status is 1 if there is something to do, as in `kubectl diff`. */
async function answerPlan(ask: Ask, question: Question<PlanOptions>): Promise<ExitStatus> {
  const { plans, notes } = await plansFor(ask, question);
  const { output } = question.options;
  if (output !== undefined) {
    ask.stdout.write(await structured(oneOrAll(plans.map(planData)), output));
  } else {
    const paint = paintFor(ask);
    ask.stdout.write(plans.map((plan) => textOfPlan(plan, paint)).join('\n'));
    ask.stderr.write('nothing was written: the API server only tried it, with dryRun=All\n');
  }
  for (const note of notes) ask.stderr.write(`${harmless(note)}\n`);
  return plans.every(isUpToDate) ? 0 : 1;
}

function isUpToDate({ applied, steps, end }: Plan): boolean {
  return applied === undefined && steps.length === 0 && end.is === 'rest' && end.next.do === 'converged';
}

interface Planned {
  readonly plans: readonly Plan[];
  /** Sentences about what the plans leave out, and what prevents them. */
  readonly notes: readonly string[];
}

async function plansFor(ask: Ask, { session, words, options }: Question<PlanOptions>): Promise<Planned> {
  const { filename } = options;
  if ((filename === undefined) === (words.length === 0))
    throw new AskProblem('name a resource, KIND/NAME, or a file, -f FILE');
  const manifests = filename === undefined ? undefined : await manifestsOfFile(filename);
  const resources = filename === undefined ? parseNamedResource(session, words) : [];
  const { settings, notes } = await settingsIn(session);
  const planner = new Planner(session, optionsOf(session.program, settings), ask.now);
  const plans =
    manifests === undefined
      ? await plansOf(planner, resources, session.client)
      : await planner.ofFile(manifests, session.namespace);
  return { plans, notes: [...notes, ...planner.notes] };
}

/** One after the other: a planner pretends what the steps write. */
async function plansOf(
  planner: Planner,
  resources: readonly NamedResource[],
  client: KubernetesClient,
): Promise<readonly Plan[]> {
  const plans: Plan[] = [];
  for (const resource of resources) {
    const { uid } = await readTarget(client, resource.object);
    plans.push(await planner.of(uid, resource));
  }
  return plans;
}

/** A plan without the operator's options is still useful, with a note. */
async function settingsIn(session: Session) {
  const without = (because: string) => ({ settings: undefined, notes: [assumingDefaults(because)] });
  try {
    const access = await session.temporal();
    const { settings } = access;
    return settings === undefined ? without(whyNoOperator(access)) : { settings, notes: [] };
  } catch (error) {
    if (error instanceof TemporalProblem) return without(error.message);
    throw error;
  }
}
