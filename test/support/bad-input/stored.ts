/** What the API server has of a value, and sends again: Go puts another character in the place of half a surrogate pair. */
export function stored<T>(value: T): T {
  // What has no text in JSON, such as a field that is not there, stays as it is.
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? value : (JSON.parse(text, withWholeCharacters) as T);
}

function withWholeCharacters(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Cs}/gu, '\ufffd') : value;
}

/** What a merge patch of some fields leaves. Source: RFC 7386. */
export function patched(fields: object, patch: object): object {
  const all = Object.entries({ ...fields, ...stored(patch) });
  return Object.fromEntries(all.filter(([, value]) => value !== null));
}
