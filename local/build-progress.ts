import { unreachable } from '../src/contract/unreachable.ts';
import { TOOL_MODULES, type ProgramName, type ToolFolder } from './server-pins.ts';

/** Of the builds of one call; comes when one begins and ends, and once a second between. */
export interface BuildProgress {
  /** `downloading` until the first package is compiled. */
  readonly state: 'downloading' | 'building' | 'built';
  /** What is built at once. */
  readonly programs: readonly ProgramName[];
  /** Since the first build began. */
  readonly elapsedMs: number;
  /** Until the last build will have ended, without what is still to be downloaded, as far as this can be told. */
  readonly leftMs: number;
}

interface Part {
  readonly folder: ToolFolder;
  readonly targets: ReadonlyMap<ProgramName, string>;
}

const HEARTBEAT_MS = 1000;
/** From then on, the pace of this machine counts for more than that of the one on which the costs were measured. */
const TRUSTED_AFTER_S = 30;

/** Tells how far the builds are. The time left is estimated by their costs, and by the pace of this machine so far. */
export class BuildMeter {
  private readonly since = performance.now();
  private readonly onProgress: (progress: BuildProgress) => void;
  private readonly totalS: number;
  /** What has ended: of the costs, and how long this machine compiled for it. */
  private ended = { costS: 0, compilingMs: 0 };
  private compiled = 0;
  private compilingSince = 0;

  constructor(parts: readonly Part[], onProgress: (progress: BuildProgress) => void = () => undefined) {
    this.onProgress = onProgress;
    this.totalS = parts.reduce((sum, { folder }) => sum + TOOL_MODULES[folder].cost.seconds, 0);
  }

  compiledOne(): void {
    if (this.compiled === 0) this.compilingSince = performance.now();
    this.compiled += 1;
  }

  async during(part: Part, build: () => Promise<void>): Promise<void> {
    this.compiled = 0;
    this.report(part);
    const heartbeat = setInterval(() => this.report(part), HEARTBEAT_MS);
    try {
      await build();
    } finally {
      clearInterval(heartbeat);
    }
    const compilingMs = this.compilingMs();
    this.ended = { costS: this.ended.costS + TOOL_MODULES[part.folder].cost.seconds, compilingMs };
    this.compiled = 0;
    this.report(part, 'built');
  }

  private report({ folder, targets }: Part, ended?: 'built'): void {
    const { seconds, packages } = TOOL_MODULES[folder].cost;
    const doneS = this.ended.costS + seconds * Math.min(this.compiled / packages, 1);
    this.onProgress({
      state: ended ?? (this.compiled === 0 ? 'downloading' : 'building'),
      programs: [...targets.keys()],
      elapsedMs: Math.round(performance.now() - this.since),
      leftMs: timeLeftMs({ compilingMs: this.compilingMs(), doneS, totalS: this.totalS }),
    });
  }

  private compilingMs(): number {
    return this.ended.compilingMs + (this.compiled === 0 ? 0 : performance.now() - this.compilingSince);
  }
}

/** Of `totalS` seconds of the machine where the costs were measured, `doneS` took this one `compilingMs`. */
export function timeLeftMs(so: { compilingMs: number; doneS: number; totalS: number }): number {
  const pace = (so.compilingMs / 1000 + TRUSTED_AFTER_S) / (so.doneS + TRUSTED_AFTER_S);
  return Math.round((so.totalS - so.doneS) * pace * 1000);
}

/** The part of a terminal or file stream that is written to. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const SHOWN_EVERY_MS = 15_000;

/**
 * Shows the builds: one line that is kept up to date on a terminal; elsewhere a line when a build begins and ends, and
 * one every 15 s between.
 */
export function showBuildProgress(output: ProgressOutput): (progress: BuildProgress) => void {
  let shown: { readonly what: string; readonly atMs: number } | undefined;
  return (progress) => {
    const { programs, elapsedMs, state } = progress;
    const isNew = shown?.what !== `${state} ${programs.join()}`;
    if (output.isTTY === true) {
      output.write(`\r\u001b[K${lineFor(progress)}${state === 'built' ? '\n' : ''}`);
    } else if (state === 'built' || isNew || elapsedMs - (shown?.atMs ?? 0) >= SHOWN_EVERY_MS) {
      output.write(`${lineFor(progress)}\n`);
      shown = { what: `${state} ${programs.join()}`, atMs: elapsedMs };
    }
  };
}

function lineFor({ programs, elapsedMs, leftMs, state }: BuildProgress): string {
  const names = programs.join(', ');
  const times = `${clock(elapsedMs)} so far, about ${clock(leftMs)} left`;
  switch (state) {
    case 'downloading':
      return `downloading the sources of ${names} (${times} after that; only the first time)`;
    case 'building':
      return `building ${names} (${times}; only the first time)`;
    case 'built':
      return `built ${names} (${clock(elapsedMs)} so far)`;
    default:
      return unreachable(state);
  }
}

/** `0:07`, `12:30` */
function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
