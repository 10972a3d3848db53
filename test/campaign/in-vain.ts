import { nameOf, textAt, writesOf, type Evidence } from './invariants.ts';

const MINUTE_MS = 60_000;
const MOST_A_MINUTE = 10;

/** I7: a PATCH that changes nothing, since admission undoes it, is made ever more slowly. */
export function inVain({ journal, place }: Evidence): string[] {
  const times = new Map<string, number[]>();
  for (const request of writesOf(journal)) {
    if (request.method !== 'PATCH') continue;
    const before = textAt(request.body, 'metadata', 'resourceVersion');
    if (before === undefined || before !== textAt(request.answer, 'metadata', 'resourceVersion')) continue;
    const name = nameOf(request, place);
    times.set(name, [...(times.get(name) ?? []), request.atMs]);
  }
  return [...times].flatMap(([name, each]) => {
    const isStorm = each.some((at, index) => (each[index + MOST_A_MINUTE] ?? Infinity) - at < MINUTE_MS);
    return isStorm
      ? `I7: ${name} changed nothing more than ${MOST_A_MINUTE} times in a minute, ${each.length} in all`
      : [];
  });
}
