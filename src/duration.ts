import parse from 'parse-duration';

/**
 * `3m`, `90s`, `1h30m`, `500ms`, in milliseconds; undefined where the text is anything else. The library ignores what it does
 * not know, so the whole text is checked first.
 */
export function millisecondsIn(text: string): number | undefined {
  if (!/^\s*(\d+(\.\d+)?(ms|s|m|h|d))+\s*$/.test(text)) return undefined;
  return parse(text) ?? undefined;
}
