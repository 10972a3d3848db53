import { readFileSync } from 'node:fs';

/** Whether a process runs. A zombie does not: it has ended, although nobody has asked how. */
export function isRunning(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return !/^State:\s+[ZX]/m.test(status);
  } catch {
    return false;
  }
}
