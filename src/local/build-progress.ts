import type { BuildProgress } from './build.ts';

/** The part of a terminal or file stream that is written to. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const HEARTBEAT_MS = 15_000;

/**
 * Shows a build: one line that is kept up to date on a terminal; elsewhere a line when a server's build
 * begins and ends, and one every 15 s between. What is found or cached goes without saying.
 */
export function showBuildProgress(output: ProgressOutput): (progress: BuildProgress) => void {
  return output.isTTY === true ? rewriteLine(output) : appendLines(output);
}

function rewriteLine(output: ProgressOutput): (progress: BuildProgress) => void {
  return (progress) => {
    const line = lineFor(progress);
    if (line !== undefined) output.write(`\r\u001b[K${line}${progress.state === 'built' ? '\n' : ''}`);
  };
}

function appendLines(output: ProgressOutput): (progress: BuildProgress) => void {
  let last = { server: '', atMs: 0 };
  return (progress) => {
    const { server, elapsedMs, state } = progress;
    const isNews = state === 'built' || server !== last.server || elapsedMs - last.atMs >= HEARTBEAT_MS;
    const line = lineFor(progress);
    if (line === undefined || !isNews) return;
    last = { server, atMs: elapsedMs };
    output.write(`${line}\n`);
  };
}

function lineFor({ server, index, total, elapsedMs, state }: BuildProgress): string | undefined {
  if (state === 'found' || state === 'cached') return undefined;
  const seconds = Math.round(elapsedMs / 1000);
  const what = state === 'built' ? 'built' : 'building';
  return `${what} ${server} (${index} of ${total}, ${seconds} s${state === 'built' ? '' : '; only the first time'})`;
}
