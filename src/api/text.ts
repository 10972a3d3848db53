/*
 * JavaScript counts in UTF-16; others do not. Texts that become part of an object are cut between characters: half a surrogate
 * pair comes back from the API server as another character, so what was read would differ from what was written each time.
 */

/** In code points, as the API server counts. */
export function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** @param most code points */
export function truncate(text: string, most: number): string {
  return text.length <= most
    ? text
    : Array.from(text.slice(0, 2 * most))
        .slice(0, most)
        .join('');
}

/**
 * @param most bytes in UTF-8; workflows, which have no Buffer, call this, too
 * @param encode what a character becomes before its bytes are counted. Default: it stays
 */
export function startInBytes(
  text: string,
  most: number,
  encode = (character: string): string => character,
): string {
  let bytes = 0;
  let start = '';
  for (const character of text) {
    for (const each of encode(character)) bytes += bytesOf(each);
    if (bytes > most) return start;
    start += character;
  }
  return text;
}

function bytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

/** @param most code points */
export function endOf(text: string, most: number): string {
  return text.length <= most
    ? text
    : Array.from(text.slice(-2 * most))
        .slice(-most)
        .join('');
}

/** Temporal's limit is 400 bytes, of which encryption with the longest key ID takes up to 180. */
const SUMMARY_MAX_BYTES = 200;

/** As much of a text as a summary in Temporal may hold: names and reasons that people give can be long. */
export function asSummary(text: string): string {
  return shortened(text, SUMMARY_MAX_BYTES);
}

/** @param most bytes of it in a payload */
export function shortened(text: string, most: number): string {
  const start = startInBytes(text, most, inJson);
  return start === text ? text : `${start}…`;
}

/** As a payload has it: `\"` is two characters. */
function inJson(character: string): string {
  return JSON.stringify(character).slice(1, -1);
}
