/** `-n=shop`, as kubectl reads it: to commander, the value were `=shop`. What follows `--` is no option. */
export function withoutJoinedValues(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--');
  const options = end < 0 ? words : words.slice(0, end);
  return [...options.flatMap(splitJoined), ...words.slice(options.length)];
}

function splitJoined(word: string): readonly string[] {
  const [, flag, value] = /^(-[A-Za-z])=(.*)$/s.exec(word) ?? [];
  return flag === undefined || value === undefined ? [word] : [flag, value];
}
