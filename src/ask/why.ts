import type { Command } from 'commander';
import type { Controller } from '../contract/controller.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ResourceRef } from '../contract/resource.ts';
import { NAMESPACES } from '../controllers/kinds.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { found as ifFound } from '../kubernetes/found.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { inSession, type Ask } from './ask.ts';
import { addCommand } from './commands.ts';
import {
  withConnectionOptions,
  withOutput,
  type ConnectionOptions,
  type OutputFormat,
} from './connection-options.ts';
import { explain } from './explain.ts';
import { explanationData, explanationText, type Explanation } from './explanation.ts';
import type { Asked, Findings, Found } from './findings.ts';
import type { Live, LiveRequest } from './live.ts';
import { paintFor, structured } from './output.ts';
import { parseNamedResource, placeOf, type NamedResource, type ResourcePlace } from './resource-name.ts';
import { isPaused } from './resources.ts';
import { describeRun, runsOfPlace, storyOfRun } from './runs.ts';
import { controllersOf, optionsOf, type Session, type TemporalAccess } from './session.ts';
import { TemporalProblem } from './temporal-problem.ts';
import { workersOf } from './workers.ts';

interface WhyOptions extends ConnectionOptions {
  readonly output?: OutputFormat;
}

export function addWhy(program: Command, ask: Ask): void {
  const command = addCommand(program, 'why').argument('<resource...>', 'KIND/NAME, or KIND NAME');
  withOutput(withConnectionOptions(command), ['json', 'yaml']).action(
    async (words: string[], options: WhyOptions) => {
      const target = parseNamedResource(words, controllersOf(undefined));
      await inSession(ask, options, async (session) => {
        const explanation = explain(await gather(session, target, ask.now));
        ask.stdout.write(await textOf(explanation, options, ask));
        return explanation.exit;
      });
    },
  );
}

async function textOf(explanation: Explanation, { output }: WhyOptions, ask: Ask): Promise<string> {
  return output === 'json' || output === 'yaml'
    ? structured(explanationData(explanation), output)
    : explanationText(explanation, paintFor(ask));
}

/** Reads all that an explanation is made from, as much of it at once as can be. @throws ApiError */
export async function gather(session: Session, target: NamedResource, now: () => number): Promise<Findings> {
  const place = placeOf(target, session.namespace);
  const [access, found] = await Promise.all([
    session.temporal().catch(onlyTemporalProblem),
    find(session, target.controller, place),
  ]);
  const settings = access instanceof TemporalProblem ? undefined : access.settings;
  const controller = controllersOf(settings).find(({ name }) => name === target.controller.name);
  const of = { controller: controller ?? target.controller, place, found };
  const [asked, live] = await Promise.all([
    access instanceof TemporalProblem ? away(access) : askTemporal(access, of).catch(asAway),
    found.is === 'there'
      ? lookAt(refOf(place, found.object), {
          client: session.client,
          options: optionsOf(settings),
          now,
          isNamespacePaused: found.namespace !== undefined && isPaused(found.namespace),
        })
      : undefined,
  ]);
  const run = asked.is === 'reached' ? asked.run : undefined;
  const link = run && (await session.linkTo(run.workflowId, run.runId));
  return { ...of, asked, live, link, nowMs: now() };
}

function refOf(place: ResourcePlace, { metadata: { uid } }: KubernetesObject): ResourceRef {
  return { ...place, uid };
}

function onlyTemporalProblem(error: unknown): TemporalProblem {
  if (error instanceof TemporalProblem) return error;
  throw error;
}

function away({ message }: TemporalProblem): Asked {
  return { is: 'away', problem: message };
}

function asAway(error: unknown): Asked {
  return away(onlyTemporalProblem(error));
}

/** @throws ApiError where the cluster does not answer */
async function find({ client }: Session, controller: Controller, place: ResourcePlace): Promise<Found> {
  const { type } = controller.primary;
  const { namespace, name } = place;
  const read = (path: string) => ifFound(client.request<KubernetesObject>({ method: 'GET', path }));
  const path = resourcePath(type, { name, ...(type.namespaced && { namespace }) });
  try {
    const [object, around] = await Promise.all([
      read(path),
      // Whoever may read the resource may not be allowed to read its namespace.
      type.namespaced
        ? read(resourcePath(NAMESPACES, { name: namespace })).catch(() => undefined)
        : undefined,
    ]);
    return object === undefined ? { is: 'gone' } : { is: 'there', object, namespace: around };
  } catch (error) {
    if (error instanceof ApiError && isAboutReading(error)) return { is: 'unreadable', error };
    throw error;
  }
}

/** With no login at all, nothing can be explained. */
function isAboutReading({ classification, status }: ApiError): boolean {
  return classification === 'api-missing' || (classification === 'access-denied' && status === 403);
}

/** @throws TemporalProblem */
async function askTemporal(
  access: TemporalAccess,
  { found, place }: Pick<Findings, 'found' | 'place'>,
): Promise<Asked> {
  const [latest, workers] = await Promise.all([
    found.is === 'there' ? latestRunOf(access, refOf(place, found.object)) : lastRunOfName(access, place),
    workersOf(access, access.taskQueue),
  ]);
  const { run, earlier } = latest;
  // The queue of the run may be another one than the operator's: then its own workers count.
  const own =
    run?.isOpen === true && run.taskQueue !== access.taskQueue
      ? await workersOf(access, run.taskQueue)
      : workers;
  const { taskQueue, settings, otherTaskQueues } = access;
  const story = run && (await storyOfRun(access, run));
  return { is: 'reached', taskQueue, settings, otherTaskQueues, workers: own, run, story, earlier };
}

type Latest = Pick<Extract<Asked, { is: 'reached' }>, 'run' | 'earlier'>;

async function latestRunOf(access: TemporalAccess, ref: ResourceRef): Promise<Latest> {
  const run = await describeRun(access, ref);
  if (run !== undefined) return { run, earlier: undefined };
  const [earlier] = await runsOfPlace(access, ref);
  return { run, earlier };
}

async function lastRunOfName(access: TemporalAccess, place: ResourcePlace): Promise<Latest> {
  const [last] = await runsOfPlace(access, place);
  return { run: last && (await describeRun(access, last.ref, last.runId)), earlier: undefined };
}

/** An error where whoever asks may not read all of it. */
async function lookAt(ref: ResourceRef, request: LiveRequest): Promise<Live | ApiError> {
  const { readLive } = await import('./live.ts');
  try {
    return await readLive(ref, request);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
