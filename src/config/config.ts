/*
 * The options. In: flags, variables, a file, and one table of options (options.ts). Out: a validated `Config`, a text such as that of
 * --help, or one line for each mistake. Nothing else in the program reads argv or the environment, and no secret is published.
 */

import { z } from 'zod';
import { ConfigurationError } from './configuration-error.ts';
import { VERSION } from './version.ts';
import { parseCommandLine, type CommandName } from './command-line.ts';
import type { OptionRow } from './option.ts';
import { optionTable, type OptionTable } from './option-table.ts';
import type { ProgramNames } from './options.ts';
import { printable } from './readable.ts';
import { readConfigFile, strongest, type FileContents, type GivenOptions } from './sources.ts';
import { LOCAL_TEMPORAL, temporalFrom, temporalIsGiven, type TemporalTarget } from './temporal.ts';

export type { CommandName };
export type { ListenAddress } from './values.ts';

type Parsable = z.output<OptionTable['schema']>;

/** The values of all options, in the groups of the table. */
export type Options = { readonly [Group in keyof Parsable]: Readonly<Parsable[Group]> };

/** Everything that the program is started with, validated. Only this folder reads argv and the environment. */
export interface Config extends Options {
  readonly command: CommandName;
  readonly temporal: TemporalTarget;
  readonly dev: Options['dev'] & {
    /** Whether somebody named a cluster: then no Kubernetes servers are started. */
    readonly kubernetesGiven: boolean;
    /** Whether somebody named a Temporal server: then none is started. */
    readonly temporalGiven: boolean;
  };
}

export type Parsed =
  | { readonly kind: 'config'; readonly config: Config }
  /** There is nothing to run: print `output` and exit (`--help`, `--version`, or what is wrong). */
  | {
      readonly kind: 'exit';
      readonly code: number;
      readonly output: string;
      readonly to: 'stdout' | 'stderr';
    };

/**
 * Reads what the program is to do: flags win over environment, environment over the file that `--config` names,
 * and that over defaults. Everything that is wrong is reported at once, a line each, and never thrown.
 *
 * @param args what follows the program's name, `process.argv.slice(2)`
 */
export async function parseConfig(
  program: ProgramNames,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Parsed> {
  try {
    return await parse(optionTable(program), args, env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return refusal(program.name, [error.message]);
  }
}

async function parse(table: OptionTable, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Parsed> {
  const line = parseCommandLine(table, args);
  if (line.kind === 'help') return { kind: 'exit', code: 0, output: line.output, to: 'stdout' };
  if (line.kind === 'wrong') return refusal(table.program, [line.problem]);
  const { command } = line;
  const file = await fileNamedBy(table, line.configFile, env);
  const given = strongest(table, { flags: line.flags, env, file: file.given });
  const options = table.schema.safeParse(treeOf(table, given, command), { reportInput: true });
  const problems = [...file.problems, ...optionProblems(table, options.error?.issues ?? [], given)];
  const temporal = temporalFor(command, env, (problem) => problems.push(problem));
  if (command === 'promote' && options.data?.worker.deploymentName === undefined) {
    problems.push('promote needs a worker deployment; set --worker-deployment');
  }
  if (!options.success || problems.length > 0) return refusal(table.program, problems);
  const { cluster, dev } = options.data;
  const kubernetesGiven = cluster.kubeconfig !== undefined || cluster.runOutsideCluster;
  const choices = { ...dev, kubernetesGiven, temporalGiven: temporalIsGiven(env) };
  return { kind: 'config', config: { ...options.data, command, temporal, dev: choices } };
}

/** What the options are where nobody sets any. */
export function defaultOptions(program: ProgramNames): Options {
  const table = optionTable(program);
  return table.schema.parse(treeOf(table, new Map(), 'run'));
}

/** The options of which some are given, the others at their defaults; undefined where one of them is invalid. */
export function optionsFrom(table: OptionTable, given: GivenOptions): Options | undefined {
  return table.schema.safeParse(treeOf(table, given, 'run')).data;
}

/** The command line that gives these options to a command: the inverse of `parseConfig`. */
export function argumentsFor(program: ProgramNames, command: CommandName, options: Options): string[] {
  const table = optionTable(program);
  const own = table.rows.filter(({ onlyFor = command }) => onlyFor === command).map(({ name }) => name);
  const flags = textsOf(table, options).filter(([name]) => own.includes(name));
  return [command, ...flags.map(([name, text]) => `--${name}=${text}`)];
}

/** The options that are set, by their names, as a person writes them. */
export function textsOf(
  { schema, rows }: OptionTable,
  options: Options,
): (readonly [name: string, text: string])[] {
  const texts = Texts.parse(z.encode(schema, options));
  return rows.flatMap(({ name, path: [group, property] }) => {
    const text = texts[group]?.[property];
    return text === undefined ? [] : [[name, text] as const];
  });
}

const Texts = z.record(z.string(), z.record(z.string(), z.string().optional()));

/** Undefined: without Worker Versioning. */
export function workerVersionOf({ worker: { deploymentName, buildId } }: Options) {
  return deploymentName === undefined ? undefined : { deploymentName, buildId: buildId ?? VERSION };
}

async function fileNamedBy(
  table: OptionTable,
  flag: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<FileContents> {
  const path = flag ?? env[CONFIG_VARIABLE] ?? '';
  if (path === '') return { given: new Map(), problems: [] };
  return readConfigFile(table, path, flag === undefined ? CONFIG_VARIABLE : '--config');
}

const CONFIG_VARIABLE = 'DURABLE_OPERATOR_CONFIG';

/** What is given, in the groups of the table. */
function treeOf({ schema, rows }: OptionTable, given: GivenOptions, command: CommandName) {
  const tree: Record<string, Record<string, unknown>> = {};
  for (const group of Object.keys(schema.shape)) tree[group] = {};
  for (const row of rows) {
    const [group, property] = row.path;
    (tree[group] ??= {})[property] = rawOf(row, given, command);
  }
  return tree;
}

function rawOf({ name, localDefault }: OptionRow, given: GivenOptions, command: CommandName): unknown {
  const found = given.get(name);
  if (found !== undefined) return found.raw;
  return command === 'dev' ? localDefault : undefined;
}

/** One line an option, in the order of the table. */
function optionProblems(
  { rows }: OptionTable,
  issues: readonly z.core.$ZodIssue[],
  given: GivenOptions,
): string[] {
  return rows.flatMap(({ name, path: [group, property] }) => {
    const issue = issues.find(({ path }) => path[0] === group && path[1] === property);
    if (issue === undefined) return [];
    const found = given.get(name);
    const what = found === undefined ? `--${name}` : `${found.from} ${shown(found.raw)}`;
    const isOfEntry = issue.path.length > 2;
    return `${what} ${isOfEntry ? `contains ${shown(issue.input)}, which ` : ''}${issue.message}`;
  });
}

const LONGEST_SHOWN = 80;

function shown(raw: unknown): string {
  const text = JSON.stringify(raw);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}

/** A local stack without a given Temporal starts its own, whatever this person's profiles say. */
function temporalFor(command: CommandName, env: NodeJS.ProcessEnv, report: (problem: string) => void) {
  if (command === 'generate' || (command === 'dev' && !temporalIsGiven(env))) return LOCAL_TEMPORAL;
  return temporalFrom(env, report);
}

function refusal(program: string, problems: readonly string[]): Parsed {
  const output = problems.map((problem) => `${program}: ${printable(problem)}\n`).join('');
  return { kind: 'exit', code: 2, output, to: 'stderr' };
}
