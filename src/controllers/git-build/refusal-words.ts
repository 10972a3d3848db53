/**
 * The server's words for a refusal, or those that are reported of it already: quoted names, numbers and ids, such as
 * `used: pods=5`, and the order differ from one refusal to the next. They are not worth a write each, which the watcher
 * would see, and end a backoff for.
 *
 * @param reported undefined: nothing is
 */
export function refusalWords(reported: string | undefined, refusal: string): string {
  return reported !== undefined && kindOf(reported) === kindOf(refusal) ? reported : refusal;
}

function kindOf(words: string): string {
  const known = words.replace(/"[^"]*"|\S*\d\S*/g, '').match(/[^\s,;:.]+/g) ?? [];
  return known.sort().join(' ');
}
