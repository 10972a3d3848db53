import { setTimeout as delay } from 'node:timers/promises';

/** Resolves with what `look` finds, once it finds something other than undefined or false. @throws after 5 s */
export async function eventually<T>(look: () => T): Promise<NonNullable<Exclude<T, false>>> {
  for (const deadline = Date.now() + 5000; ;) {
    const found = look();
    if (isFound(found)) return found;
    if (Date.now() > deadline) throw new Error(`never came true: ${String(look)}`);
    await delay(2);
  }
}

function isFound<T>(found: T): found is NonNullable<Exclude<T, false>> {
  return found !== undefined && found !== null && found !== false;
}
