import type { Command } from 'commander';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { readTarget } from '../cluster/targets.ts';
import { addCommand } from '../commands.ts';
import { withConnectionOptions, withOutput, type ConnectionOptions } from '../connection/options.ts';
import { optionsOf } from '../controllers.ts';
import { paintFor, structured } from '../output.ts';
import { parseNamedResource, placeOf } from '../resource-name.ts';
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
  const plans = await plansFor(ask, question);
  const { output } = question.options;
  if (output !== undefined) {
    const data = plans.map(dataOf);
    ask.stdout.write(await structured(data.length === 1 ? data[0] : data, output));
  } else {
    const paint = paintFor(ask);
    ask.stdout.write(plans.map((plan) => textOfPlan(plan, paint)).join('\n'));
    ask.stderr.write('nothing was written: the API server has only tried it, with dryRun=All\n');
  }
  return plans.every(isUpToDate) ? 0 : 1;
}

function isUpToDate({ applied, steps, end }: Plan): boolean {
  return applied === undefined && steps.length === 0 && end.is === 'rest' && end.next.do === 'converged';
}

async function plansFor(
  ask: Ask,
  { session, words, options }: Question<PlanOptions>,
): Promise<readonly Plan[]> {
  const { filename } = options;
  const { client, namespace } = session;
  if ((filename === undefined) === (words.length === 0))
    throw new AskProblem('name a resource, KIND/NAME, or a file, -f FILE');
  const manifests = filename === undefined ? [] : await manifestsIn(filename);
  const resource = filename === undefined ? parseNamedResource(words) : undefined;
  const { settings } = await session.temporal();
  const planner = new Planner(client, optionsOf(settings), ask.now);
  if (resource === undefined) return planner.ofFile(manifests, namespace);
  const { controller, name } = resource;
  const { uid } = await readTarget(client, { type: controller.primary.type, namespace, name });
  return [await planner.of({ ...placeOf(resource, namespace), uid }, controller)];
}
