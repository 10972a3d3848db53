/** One server, as the guardian is to start it. */
export interface Launch {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Default: little more than the PATH. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: the stack's folder. */
  readonly cwd?: string;
  /** How long it has after SIGTERM. Default: 1,500. */
  readonly graceMs?: number;
}

/** What we ask of the guardian: one JSON object a line on its standard input, whose end means: stop all. */
export type Request =
  { readonly do: 'start'; readonly launch: Launch } | { readonly do: 'stop'; readonly name: string };

/** What the guardian says: one JSON object a line on its standard output. */
export type Notice =
  | { readonly event: 'started'; readonly name: string; readonly pid: number }
  | { readonly event: 'exited'; readonly name: string; readonly how: string };

/** What the guardian is started with, as its one argument. */
export interface Charge {
  /** The stack's folder. */
  readonly dir: string;
  /** Where pids are recorded. */
  readonly processesDir: string;
  /** Is the folder to stay when all is stopped? */
  readonly keepState: boolean;
}
