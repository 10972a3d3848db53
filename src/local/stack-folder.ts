import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { freePort, isFree } from './ports.ts';
import { end, GUARDIAN, runningIn } from './recorded-process.ts';
import type { StackLayout, StackPorts } from './stack-layout.ts';

const Marker = z.object({
  ports: z.object({
    apiServer: z.int(),
    etcdClient: z.int(),
    etcdPeer: z.int(),
    temporal: z.int(),
    temporalUi: z.int(),
    temporalMetrics: z.int(),
  }),
});

/**
 * Sees that the folder may be ours: new or empty, or of an earlier stack, whose leftover servers are ended.
 *
 * @throws Error where it holds other things, or a stack that is still used
 */
export async function claim(layout: StackLayout): Promise<void> {
  const contents = await readdir(layout.dir).catch(() => []);
  if (contents.length > 0 && !existsSync(layout.marker)) {
    throw new Error(`${layout.dir} holds other things than a local stack; choose an empty or new folder`);
  }
  await endLeftovers(layout);
}

/** Makes the folder and marks it as a stack's, before anything else is in it. */
export async function makeFolder(layout: StackLayout, ports: StackPorts): Promise<void> {
  await mkdir(layout.dir, { recursive: true, mode: 0o700 });
  await writeFile(layout.marker, JSON.stringify({ ports }));
  await mkdir(layout.logs, { recursive: true });
  await mkdir(layout.processes, { recursive: true });
}

const GUARDIAN_ENDS_WITHIN_MS = 5000;

/** A guardian alone has nobody to serve and is about to end; one that stays serves a stack in use. */
async function endLeftovers({ dir, processes }: StackLayout): Promise<void> {
  const deadline = performance.now() + GUARDIAN_ENDS_WITHIN_MS;
  for (;;) {
    const guardian = (await runningIn(processes)).find(({ name }) => name === GUARDIAN);
    if (guardian === undefined) break;
    if (performance.now() > deadline) {
      throw new Error(
        `a local stack is running in ${dir} (process ${guardian.pid}); stop it, or choose another folder`,
      );
    }
    await pause(100);
  }
  await Promise.all((await runningIn(processes)).map(end));
}

/**
 * Those asked for; else those that this folder's stack had, where they are free; else any free ones.
 *
 * @throws Error that names a port which was asked for and is taken
 */
export async function choosePorts(layout: StackLayout, asked: Partial<StackPorts>): Promise<StackPorts> {
  const before = await rememberedPorts(layout);
  const choose = async (name: keyof StackPorts): Promise<number> => {
    const wanted = asked[name];
    if (wanted !== undefined) return requireFree(name, wanted);
    const last = before[name];
    return last !== undefined && (await isFree(last)) ? last : freePort();
  };
  return {
    apiServer: await choose('apiServer'),
    etcdClient: await choose('etcdClient'),
    etcdPeer: await choose('etcdPeer'),
    temporal: await choose('temporal'),
    temporalUi: await choose('temporalUi'),
    temporalMetrics: await choose('temporalMetrics'),
  };
}

async function requireFree(name: keyof StackPorts, port: number): Promise<number> {
  if (await isFree(port)) return port;
  throw new Error(
    `port ${port}, which was asked for (${name}), is taken; stop what listens there, or choose another`,
  );
}

async function rememberedPorts(layout: StackLayout): Promise<Partial<StackPorts>> {
  try {
    return Marker.parse(JSON.parse(await readFile(layout.marker, 'utf8'))).ports;
  } catch {
    return {}; // a new folder
  }
}

/** Copies the logs out of the folder, which is about to be removed. Returns where they are. */
export async function saveLogs(layout: StackLayout): Promise<string> {
  const saved = await mkdtemp(join(tmpdir(), 'durable-operator-logs-'));
  await cp(layout.logs, saved, { recursive: true });
  return saved;
}
