import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

/** A process of ours as the state folder records it. A pid alone is not enough: pids are used again. */
export type RecordedProcess = z.infer<typeof RecordedProcess>;

const RecordedProcess = z.object({
  name: z.string(),
  pid: z.int(),
  /** When it started, in the words of the operating system; the same for no other process with that pid. */
  startedAt: z.string(),
});

/** The guardian's name among the records. */
export const GUARDIAN = 'guardian';

/** When the process with this pid started, or undefined where there is none (a zombie counts as none). */
export function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startInProc(pid) : startInPs(pid);
}

function startInProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold spaces: fields count from after it (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${boot} ${fields[19] ?? ''}`;
  } catch {
    return undefined;
  }
}

function startInPs(pid: number): string | undefined {
  try {
    const said = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return said === '' || said.startsWith('Z') ? undefined : said.replace(/^\S+\s+/, '');
  } catch {
    return undefined;
  }
}

export function isRunning(recorded: RecordedProcess): boolean {
  return startOf(recorded.pid) === recorded.startedAt;
}

/** Synchronous, so that no moment lies between a process's start and its record. */
export function record(folder: string, name: string, pid: number): void {
  const startedAt = startOf(pid);
  if (startedAt === undefined) return;
  const entry: RecordedProcess = { name, pid, startedAt };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(entry));
}

export function forget(folder: string, name: string): void {
  rmSync(join(folder, `${name}.json`), { force: true });
}

/** Those of the recorded processes that still run. */
export async function runningIn(folder: string): Promise<RecordedProcess[]> {
  const files = await readdir(folder).catch(() => []);
  const records = files.filter((file) => file.endsWith('.json')).map((file) => parse(join(folder, file)));
  return records.filter((entry) => entry !== undefined).filter(isRunning);
}

function parse(file: string): RecordedProcess | undefined {
  try {
    return RecordedProcess.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined; // half written when its writer was killed
  }
}

/** Kills the process where it is still the one recorded, and waits until it is gone. */
export async function end(recorded: RecordedProcess): Promise<void> {
  if (isRunning(recorded)) kill(recorded.pid);
  while (isRunning(recorded)) await pause(20);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone meanwhile
  }
}
