import type { Fake } from './outside.ts';

/** What a fake's `fetch` is asked. */
export interface FetchRequest {
  readonly method: string;
  readonly url: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As JSON has it; undefined: there was none. */
  readonly body?: unknown;
}

/** What it answers with: `{ status: 404 }`. */
export interface FetchAnswer {
  readonly status: number;
  /** As JSON. Default: none. */
  readonly body?: unknown;
  /** Such as `{ 'retry-after': '5' }`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Meanwhile, what the controller fetches is answered by the function `fetch` of the fake, if it has one. */
export async function withFetch<T>(fake: Fake, work: () => Promise<T>): Promise<T> {
  const { fetch: ask } = fake.calls() as { fetch?: (asked: FetchRequest) => Promise<FetchAnswer> };
  if (ask === undefined) return work();
  const { fetch: real } = globalThis;
  globalThis.fetch = async (input, init) => {
    if (!fake.isInUse) return real(input, init);
    const request = new Request(input, init);
    const text = await request.text();
    const { method, url } = request;
    const { status, body, headers } = await ask({
      method,
      url,
      headers: Object.fromEntries(request.headers),
      ...(text !== '' && { body: JSON.parse(text) as unknown }),
    });
    return new Response(body === undefined ? null : JSON.stringify(body), {
      status,
      ...(headers && { headers }),
    });
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}
