import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import {
  nodeArguments,
  OperatorFailed,
  operatorVariables,
  type OperatorLaunch,
} from '../../local/operator.ts';

export interface OperatorProcess {
  readonly pid: number;
  /** Aborted when it has ended; the reason says how. */
  readonly ended: AbortSignal;
  /** @returns its exit code, or null after the signal ended it */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

/** Starts the operator as a child of this process; `untilReady` waits until it works. */
export function spawnOperator(launch: OperatorLaunch, onLine: (line: string) => void): OperatorProcess {
  const child = spawn(process.execPath, nodeArguments(launch), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: operatorVariables(launch),
  });
  const { pid } = child;
  if (pid === undefined) throw new OperatorFailed(`${launch.program} could not be started`);
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', onLine);
  const ending = new AbortController();
  const exited = once(child, 'exit').then(() => {
    const how = child.signalCode ?? `exit code ${child.exitCode ?? 'unknown'}`;
    ending.abort(new OperatorFailed(`the operator ended (${how})`));
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return { pid, ended: ending.signal, end };
}
