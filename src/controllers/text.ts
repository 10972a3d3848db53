/*
 * The characters of JavaScript are UTF-16, of which others know nothing. Texts that become part of an object are cut between characters: half a surrogate pair comes back from the API server as
 * another character, and what was read would differ from what was written each time.
 */

/** In code points, as the API server counts. */
export function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** @param most code points */
export function startOf(text: string, most: number): string {
  return text.length <= most
    ? text
    : Array.from(text.slice(0, 2 * most))
        .slice(0, most)
        .join('');
}

/** @param most code points */
export function endOf(text: string, most: number): string {
  return text.length <= most
    ? text
    : Array.from(text.slice(-2 * most))
        .slice(-most)
        .join('');
}
