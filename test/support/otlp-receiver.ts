import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';
import { z } from 'zod';

/** The part of opentelemetry/proto/trace/v1/trace.proto that tests look at. */
const PROTO = `
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; int64 int_value = 3; double double_value = 4; } }
  message Status { string message = 2; int32 code = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
    repeated KeyValue attributes = 9; Status status = 15;
  }`;
const Request = protobuf.parse(PROTO).root.lookupType('Request');

const Attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.union([z.string(), z.number()])) }))
  .default([])
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0] ?? ''])));
const hex = z
  .string()
  .default('')
  .transform((base64) => Buffer.from(base64, 'base64').toString('hex'));
const Span = z
  .object({
    traceId: hex,
    spanId: hex,
    parentSpanId: hex,
    name: z.string(),
    attributes: Attributes,
    status: z.object({ message: z.string().default(''), code: z.number().default(0) }).optional(),
  })
  .transform(({ status, ...span }) => ({
    ...span,
    hasFailed: status?.code === ERROR,
    words: status?.message ?? '',
  }));
const ResourceSpans = z.object({
  resource: z.object({ attributes: Attributes }),
  scopeSpans: z.array(z.object({ spans: z.array(Span) })),
});
const Batch = z.object({ resourceSpans: z.array(ResourceSpans).default([]) });
/** `STATUS_CODE_ERROR` of trace.proto. */
const ERROR = 2;

export type ReceivedSpan = z.infer<typeof Span>;

/** Takes traces by OTLP over HTTP, as a collector does. */
export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** What the last sender said of itself. */
  readonly resource: Readonly<Record<string, string | number>>;
  /** Everything that was received, as it came. */
  readonly bytes: Buffer;
  /** What is answered from now on. Default: 200. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

export async function anOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  let resource: Record<string, string | number> = {};
  let status = 200;
  const server = createServer((request, response) => {
    void take(request, response);
  });
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    response.writeHead(request.url === '/v1/traces' ? status : 404).end();
    if (status !== 200) return;
    bodies.push(body);
    for (const sent of batchOf(body).resourceSpans) {
      resource = sent.resource.attributes;
      spans.push(...sent.scopeSpans.flatMap((scope) => scope.spans));
    }
  }

  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    spans,
    get resource() {
      return resource;
    },
    get bytes() {
      return Buffer.concat(bodies);
    },
    answerWith: (next) => (status = next),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function batchOf(body: Buffer): z.infer<typeof Batch> {
  return Batch.parse(Request.toObject(Request.decode(body), { bytes: String, longs: Number }));
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address === 'object' && address !== null) return address.port;
  throw new Error('the receiver does not listen');
}
