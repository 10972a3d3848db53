import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../contract/logger.ts';

/**
 * Sends spans by OTLP over HTTP to where OpenTelemetry's own variables say (`OTEL_EXPORTER_OTLP_ENDPOINT`; by
 * default the collector at http://localhost:4318). What cannot be sent is lost, and told once.
 */
export function traceExporter(log: Logger): SpanExporter {
  return new TellingExporter(new OTLPTraceExporter(), log);
}

type Done = Parameters<SpanExporter['export']>[1];

class TellingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Logger;
  #isFailing = false;

  constructor(exporter: SpanExporter, log: Logger) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#exporter.export(spans, (result) => {
      this.#tell(result.error);
      done(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #tell(error: Error | undefined): void {
    const isFailing = error !== undefined;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) {
      const advice = 'OTEL_EXPORTER_OTLP_ENDPOINT says where to';
      this.#log.warn({}, `traces cannot be sent (${error.message}), and are lost meanwhile; ${advice}`);
    } else this.#log.info({}, 'traces are sent again');
  }
}
