import { readFileSync } from 'node:fs';

/** What a process has used; undefined where the operating system has no /proc. */
export interface Usage {
  /** User and system time since its start. */
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** USER_HZ, which is 100 on every architecture that Node runs on: proc_pid_stat(5), time(7). */
const TICK_MS = 10;

export function usageOf(pid: number): Usage | undefined {
  if (process.platform !== 'linux') return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return { cpuMs: cpuMsIn(stat), rssMb: rssMbIn(status) };
}

/** From the text of /proc/PID/stat. */
export function cpuMsIn(stat: string): number {
  // The name, in parentheses, may hold spaces: fields count from after it. Fields 14 and 15: utime and stime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** From the text of /proc/PID/status. */
export function rssMbIn(status: string): number {
  return megabytesIn('VmRSS', status);
}

/** The most that it was, from the text of /proc/PID/status. */
export function peakMbIn(status: string): number {
  return megabytesIn('VmHWM', status);
}

function megabytesIn(field: string, status: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}
