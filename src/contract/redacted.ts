/**
 * Without the user information and the queries of URLs, which may be credentials: git repeats them in its errors, and a webhook may
 * quote the object that it refuses. Source: RFC 3986, 3.2.1 and 3.4.
 */
export function redacted(text: string): string {
  return (
    text
      .replaceAll(/(:\/\/)[^/?#\s]*@/g, '$1')
      // Each URL is matched as a whole, with or without a query: a text of nothing but `://` would else be read again from each.
      .replaceAll(/(:\/\/[^\s'"?#]*)([?#][^\s'"]*)?/g, (_, url: string, query?: string) =>
        query === undefined ? url : `${url}?[redacted]`,
      )
      .replaceAll(/([?&][\w.-]+=)[^&#\s'"]+/g, '$1[redacted]')
  );
}
