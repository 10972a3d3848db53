import type { IncomingMessage, ServerResponse } from 'node:http';
import { StringDecoder } from 'node:string_decoder';

/** Source: apimachinery, `metav1.Status`, as the watch cache of the API server sends it. */
const GONE = {
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'too old resource version',
    reason: 'Expired',
    code: 410,
  },
};

interface PipedWatch {
  readonly resource: string;
  readonly answer: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** One open watch, whose events may be kept back or repeated on their way. */
export class WatchPipe {
  /** The plural of what it watches. */
  readonly resource: string;
  isDoubled = false;
  readonly #outgoing: ServerResponse;
  #begun = '';
  #isHeld = false;
  #isDraining = false;
  #held: string[] = [];

  constructor({ resource, answer, outgoing }: PipedWatch) {
    this.resource = resource;
    this.#outgoing = outgoing;
    const decoder = new StringDecoder('utf8');
    answer.on('data', (bytes: Buffer) => this.#take(decoder.write(bytes)));
    answer.on('error', () => undefined);
    answer.on('close', () => {
      if (this.#isDraining) return;
      // One that was cut off in the middle must not look like one that has ended.
      if (answer.complete) outgoing.end();
      else outgoing.destroy();
    });
  }

  /** Events are kept back from now on. */
  hold(): void {
    this.#isHeld = true;
  }

  /** What was kept back comes, and all that follows. */
  release(): void {
    this.#isHeld = false;
    for (const line of this.#held.splice(0)) this.#send(line);
  }

  /** It stays open without its server, until it ends. */
  drain(): void {
    this.#isDraining = true;
  }

  end(): void {
    this.#outgoing.end();
  }

  expire(): void {
    this.#outgoing.end(`${JSON.stringify(GONE)}\n`);
  }

  break(): void {
    this.#outgoing.destroy();
  }

  #take(text: string): void {
    const lines = (this.#begun + text).split('\n');
    this.#begun = lines.pop() ?? '';
    for (const line of lines) {
      if (this.#isHeld) this.#held.push(line);
      else this.#send(line);
    }
  }

  #send(line: string): void {
    if (this.#outgoing.writableEnded || this.#outgoing.destroyed) return;
    const text = `${line}\n`;
    this.#outgoing.write(text);
    if (this.isDoubled) this.#outgoing.write(text);
  }
}
