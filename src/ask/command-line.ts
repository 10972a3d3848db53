import { Command, CommanderError } from 'commander';
import { askCommandOf } from '../runs/ask-command.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { ApiError, type ApiErrorClass } from '../kubernetes/errors.ts';
import { TemporalProblem } from '../temporal/temporal-problem.ts';
import { VERSION } from '../config/version.ts';
import { AskProblem, INTERRUPTED, type Ask, type ExitStatus, type Output } from './ask.ts';
import { ASK_COMMAND_NAMES, isAskCommand, type AskCommand } from './commands.ts';
import { withoutJoinedValues } from './options.ts';
import { harmless } from './output.ts';

type Add = (program: Command, ask: Ask) => void;

/** Only the code of the command in use is loaded. */
const ADD: Readonly<Record<AskCommand, () => Promise<Add>>> = {
  get: async () => (await import('./get/get.ts')).addGet,
  why: async () => (await import('./why/why.ts')).addWhy,
  history: async () => (await import('./history/history.ts')).addHistory,
  plan: async () => (await import('./plan/plan.ts')).addPlan,
  retry: async () => (await import('./change/retry.ts')).addRetry,
  reconcile: async () => (await import('./change/reconcile.ts')).addReconcile,
  pause: async () => (await import('./change/pause.ts')).addChange.bind(undefined, 'pause'),
  resume: async () => (await import('./change/pause.ts')).addChange.bind(undefined, 'resume'),
  approve: async () => (await import('./change/approve.ts')).addVerdict.bind(undefined, 'approve'),
  reject: async () => (await import('./change/approve.ts')).addVerdict.bind(undefined, 'reject'),
  'uninstall-check': async () => (await import('./uninstall-check.ts')).addUninstallCheck,
};

const PROGRAM = 'kubectl durable';
/** An error code of commander. */
const NO_COMMAND = 'commander.help';

/**
 * Answers one question.
 *
 * @param args the command, its options and arguments
 */
export async function answer(args: readonly string[], asking: Omit<Ask, 'exitWith'>): Promise<ExitStatus> {
  let status: ExitStatus = 0;
  const outputs = {
    stdout: namingProgram(asking.stdout, asking),
    stderr: namingProgram(asking.stderr, asking),
  };
  const ask: Ask = { ...asking, ...outputs, exitWith: (given) => (status = given) };
  try {
    const [first] = args;
    const program = await programWith(isAskCommand(first) ? [first] : ASK_COMMAND_NAMES, ask);
    await program.parseAsync(withoutJoinedValues(args), { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const problem = problemIn(error, ask, adviceFor(args));
    if (problem === undefined) return INTERRUPTED;
    ask.stderr.write(`${PROGRAM}: ${problem}\n`);
    return 2;
  }
}

/** Commands in help and advice are written for the plugin. An author's program is named as people call it. */
function namingProgram(output: Output, { program }: Pick<Ask, 'program'>): Output {
  const command = askCommandOf(program.name);
  return { write: (text) => output.write(text.replaceAll(PROGRAM, command)) };
}

/** The command line with some of the commands. */
export async function programWith(names: readonly AskCommand[], ask: Ask): Promise<Command> {
  const program = new Command(PROGRAM)
    .description('Ask the operator what it does, and why.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help; after a command, the help of the command')
    .exitOverride()
    // Errors are printed in one line of our own.
    .configureOutput({ writeOut: (text) => ask.stdout.write(text), writeErr: () => undefined });
  for (const name of names) (await ADD[name]())(program, ask);
  return program;
}

function adviceFor(args: readonly string[]): string {
  const [first] = args;
  if (isAskCommand(first)) return `see ${PROGRAM} ${first} --help`;
  const command = first?.startsWith('-') === true ? args.find(isAskCommand) : undefined;
  return command === undefined
    ? `see ${PROGRAM} --help`
    : `options go after the command: ${PROGRAM} ${command} ...`;
}

/** One line that says what to do; undefined if Ctrl-C was the only problem. */
function problemIn(error: unknown, { signal }: Ask, advice: string): string | undefined {
  if (error instanceof CommanderError) {
    if (error.code === NO_COMMAND) return `name a command; ${advice}`;
    const sentence = harmless(error.message.replace(/^error: /, '')).replace(/\.$/, '');
    return `${sentence}; ${advice}`;
  }
  if (error instanceof AskProblem || error instanceof ConfigurationError) return error.message;
  return signal.aborted ? undefined : serverProblem(error);
}

/** One line about the error of a server, never a stack. */
function serverProblem(error: unknown): string {
  if (error instanceof TemporalProblem) return harmless(error.message);
  if (error instanceof ApiError) return harmless(`${error.message}; ${adviceOn(error)}`);
  const words = error instanceof Error ? error.message : String(error);
  return harmless(`unexpected error: ${words}; please report it`);
}

function adviceOn({ classification, status }: ApiError): string {
  if (classification === 'access-denied' && status === 401) return 'log in to the cluster again';
  if (classification === 'unavailable' && status !== undefined) return ADVICE.conflict;
  return ADVICE[classification];
}

const ADVICE: Readonly<Record<ApiErrorClass, string>> = {
  'access-denied': 'ask for the permission to do this',
  'already-exists': 'try again',
  'api-missing': "install the operator's custom resource definitions",
  conflict: 'try again',
  'disruption-budget': 'try again',
  expired: 'try again',
  'namespace-terminating': 'its namespace is being deleted',
  'not-found': 'check the name and -n',
  overridden: 'correct what the server names',
  refused: 'correct what the server names',
  'retry-after': 'try again',
  unavailable: 'check --kubeconfig and --context',
};
