/**
 * Without the user information and the queries of URLs, which may be credentials: git repeats them in its errors, and a webhook may
 * quote the object that it refuses. Source: RFC 3986, 3.2.1 and 3.4. Without the value of a field of the wrong type, either: it may be of
 * a Secret. Source: structured-merge-diff, package typed.
 */
export function redacted(text: string): string {
  return (
    text
      .replace(/(\bexpected (?:string|map|list|boolean|any scalar)), got &.*$/s, '$1')
      .replaceAll(/(:\/\/)[^/?#\s]*@/g, '$1')
      // Each URL is matched as a whole, with or without a query: a text of nothing but `://` would else be read again from each.
      .replaceAll(/(:\/\/[^\s'"?#]*)([?#][^\s'"]*)?/g, (_, url: string, query?: string) =>
        query === undefined ? url : `${url}?[redacted]`,
      )
      .replaceAll(/([?&][\w.-]+=)[^&#\s'"]+/g, '$1[redacted]')
  );
}
