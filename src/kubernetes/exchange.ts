import type { Dispatcher } from 'undici';

/** What is put on the wire. */
export interface Exchange {
  /** Scheme, host and port: where a proxy is to lead. */
  readonly origin: string;
  readonly method: Dispatcher.HttpMethod;
  /** With the query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | undefined;
  /** For a whole answer, from now to its last byte; for a stream, to its first. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface AnswerHead {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

export interface Answer extends AnswerHead {
  readonly body: string;
}

/**
 * Makes one exchange and resolves with the whole answer, whatever its status. It speaks to the dispatcher
 * directly: undici's own `request` wraps each body in a stream, which costs more than all the rest.
 */
export function exchange(dispatcher: Dispatcher, options: Exchange): Promise<Answer> {
  return new Promise((resolve, reject) => {
    dispatch(dispatcher, options, new AnswerCollector(options, { resolve, reject }));
  });
}

function dispatch(dispatcher: Dispatcher, options: Exchange, handler: Dispatcher.DispatchHandler): void {
  const { origin, method, path, headers, body } = options;
  // The exchange has its own time limit, more exact than undici's.
  dispatcher.dispatch(
    { origin, method, path, headers, body: body ?? null, headersTimeout: 0, bodyTimeout: 0 },
    handler,
  );
}

interface Settle<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** Ends an exchange that takes too long, or that nobody wants any more, wherever it stands. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #end: (reason: Error) => void;

  constructor(options: Exchange, end: (reason: Error) => void) {
    this.#end = end;
    this.#signal = options.signal;
    this.#timer = setTimeout(
      () => end(new Error(`no answer within ${options.timeoutMs} ms`)),
      options.timeoutMs,
    );
    this.#signal?.addEventListener('abort', this.#onAbort);
    if (this.#signal?.aborted) queueMicrotask(this.#onAbort);
  }

  /** No more time limit; the signal still holds. */
  answered(): void {
    clearTimeout(this.#timer);
  }

  over(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#end(new Error('aborted'));
}

/** The part that every exchange shares: how it is ended early, in the pool's queue or on the wire. */
abstract class ExchangeHandler {
  protected readonly deadline: Deadline;
  #controller: Dispatcher.DispatchController | undefined;
  #ended: Error | undefined;

  constructor(options: Exchange) {
    this.deadline = new Deadline(options, (reason) => this.end(reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(this.#ended);
  }

  protected get controller(): Dispatcher.DispatchController | undefined {
    return this.#controller;
  }

  protected end(reason: Error): void {
    this.#ended ??= reason;
    this.deadline.over();
    this.fail(reason);
    this.#controller?.abort(reason);
  }

  protected abstract fail(reason: Error): void;
}

class AnswerCollector extends ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #settle: Settle<Answer>;
  readonly #chunks: Buffer[] = [];
  #head: AnswerHead = { status: 0, retryAfter: undefined };

  constructor(options: Exchange, settle: Settle<Answer>) {
    super(options);
    this.#settle = settle;
  }

  onResponseStart(_: unknown, status: number, headers: Dispatcher.ResponseData['headers']): void {
    this.#head = answerHead(status, headers);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.deadline.over();
    this.#settle.resolve({ ...this.#head, body: textOf(this.#chunks) });
  }

  onResponseError(_: unknown, error: Error): void {
    this.deadline.over();
    this.fail(error);
  }

  protected fail(reason: Error): void {
    this.#settle.reject(reason);
  }
}

function answerHead(status: number, headers: Dispatcher.ResponseData['headers']): AnswerHead {
  const retryAfter = headers['retry-after'];
  return { status, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter };
}

function textOf(chunks: readonly Buffer[]): string {
  const [first, ...more] = chunks;
  if (!first) return '';
  return more.length === 0 ? first.toString('utf8') : Buffer.concat(chunks).toString('utf8');
}

/** The body of a 200, which goes on and on. */
export interface Stream {
  readonly status: 200;
  /** What has come since the last call, in order; undefined once the body has ended. @throws where it broke */
  read(): Promise<readonly Buffer[] | undefined>;
  /** Drops the connection. */
  destroy(): void;
}

/** Resolves once the head of a 200 has come, or any other answer is complete. */
export function openStream(dispatcher: Dispatcher, options: Exchange): Promise<Stream | Answer> {
  return new Promise((resolve, reject) => {
    dispatch(dispatcher, options, new StreamReader(options, { resolve, reject }));
  });
}

/** Beyond this many bytes unread, the server is made to wait. */
const MOST_UNREAD = 4 * 1024 * 1024;

type StreamEnd = { readonly how: 'ended' } | { readonly how: 'broken'; readonly error: Error };

class StreamReader extends ExchangeHandler implements Dispatcher.DispatchHandler, Stream {
  readonly status = 200;
  readonly #opening: Settle<Stream | Answer>;
  /** Of an answer that is no stream. */
  #refusal: AnswerHead | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #end: StreamEnd | undefined;
  #wake: (() => void) | undefined;

  constructor(options: Exchange, opening: Settle<Stream | Answer>) {
    super(options);
    this.#opening = opening;
  }

  onResponseStart(_: unknown, status: number, headers: Dispatcher.ResponseData['headers']): void {
    if (status !== this.status) {
      this.#refusal = answerHead(status, headers);
      return;
    }
    this.deadline.answered();
    this.#opening.resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > MOST_UNREAD) controller.pause();
    this.#wakeReader();
  }

  onResponseEnd(): void {
    this.deadline.over();
    if (this.#refusal) this.#opening.resolve({ ...this.#refusal, body: textOf(this.#unread) });
    this.#endWith({ how: 'ended' });
  }

  onResponseError(_: unknown, error: Error): void {
    this.deadline.over();
    this.fail(error);
  }

  async read(): Promise<readonly Buffer[] | undefined> {
    while (this.#unread.length === 0) {
      if (this.#end?.how === 'ended') return undefined;
      if (this.#end) throw this.#end.error;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#takeUnread();
  }

  destroy(): void {
    if (!this.#end) this.end(new Error('closed by the reader'));
  }

  protected fail(reason: Error): void {
    this.#opening.reject(reason);
    this.#endWith({ how: 'broken', error: reason });
  }

  #takeUnread(): readonly Buffer[] {
    const taken = this.#unread;
    this.#unread = [];
    this.#unreadBytes = 0;
    if (this.controller?.paused) this.controller.resume();
    return taken;
  }

  #endWith(end: StreamEnd): void {
    this.#end ??= end;
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
