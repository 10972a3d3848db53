import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

export interface TextAnswer {
  readonly status: number;
  readonly body: string;
  /** Default: plain text. */
  readonly contentType?: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** Answers with a text, a HEAD with its length alone. What we serve is of this moment: nobody may keep it. */
export function sendText(request: IncomingMessage, response: ServerResponse, answer: TextAnswer): void {
  const { status, body, contentType = 'text/plain; charset=utf-8', headers = {} } = answer;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
