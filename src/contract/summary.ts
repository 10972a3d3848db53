import { startInBytes } from './text.ts';

/** Temporal's limit is 400 bytes, of which encryption with the longest key ID takes up to 180. */
const SUMMARY_MAX_BYTES = 200;

/** As much of a text as a summary in Temporal may hold: names and reasons that people give can be long. */
export function asSummary(text: string): string {
  const start = startInBytes(text, SUMMARY_MAX_BYTES, inJson);
  return start === text ? text : `${start}…`;
}

/** As a payload has it: `\"` is two characters. */
function inJson(character: string): string {
  return JSON.stringify(character).slice(1, -1);
}
