import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';
import { z } from 'zod';

export interface DownloadRequest {
  readonly url: string;
  /** SHA-256 or SHA-512 in hex. */
  readonly sha: string;
  /** For unfinished files. A later download goes on with them. */
  readonly folder: string;
  readonly signal: AbortSignal | undefined;
  /** Until the headers of the answer. Default: 5,000. */
  readonly answerWithinMs?: number;
}

/** A download whose server has answered. */
export interface Download {
  /** In bytes. */
  readonly present: number;
  /** In bytes; 0 if the server does not say. */
  readonly missing: number;
  /**
   * Moves the file to the target, once its checksum is right. To be called once.
   *
   * @param onBytes called with the number of bytes that arrived
   * @throws Error if the connection breaks and a new one brings nothing, or the checksum is wrong
   */
  finish(target: string, onBytes: (count: number) => void): Promise<void>;
}

/** @throws Error if the server does not answer in time, or has no such file */
export async function openDownload(request: DownloadRequest): Promise<Download> {
  const part = await claimPart(request);
  // It follows HTTPS_PROXY and NO_PROXY.
  const agent = new EnvHttpProxyAgent({ bodyTimeout: NEXT_BYTES_WITHIN_MS });
  const ask = () => answerTo(request, part, agent);
  const close = () => Promise.all([agent.destroy(), releasePart(part)]);
  try {
    const first = await ask();
    const finish = async (target: string, onBytes: (count: number) => void) => {
      try {
        await receive(first, { ...request, part, ask, onBytes });
        await verify(part, request);
        await mkdir(dirname(target), { recursive: true });
        await rename(part, target);
      } finally {
        await close();
      }
    };
    return { present: first.offset, missing: first.length, finish };
  } catch (error) {
    await close();
    throw error;
  }
}

const ANSWER_WITHIN_MS = 5_000;
const NEXT_BYTES_WITHIN_MS = 15_000;

/** The rest of a file, from the offset. */
interface Answer {
  readonly offset: number;
  readonly length: number;
  readonly body: AsyncIterable<Uint8Array>;
}

async function answerTo(
  { url, signal, answerWithinMs = ANSWER_WITHIN_MS }: DownloadRequest,
  part: string,
  dispatcher: EnvHttpProxyAgent,
): Promise<Answer> {
  const offset = await sizeOf(part);
  const late = new AbortController();
  const noAnswer = () => late.abort(new Error(`no answer within ${answerWithinMs / 1000} s`));
  const timer = setTimeout(noAnswer, answerWithinMs);
  const signals = signal === undefined ? [late.signal] : [late.signal, signal];
  // A compressed answer would not have the checksum of the file.
  const headers = { 'accept-encoding': 'identity', range: `bytes=${offset}-` };
  try {
    const response = await fetch(url, { dispatcher, headers, signal: AbortSignal.any(signals) });
    return answerIn(response, offset);
  } catch (error) {
    signal?.throwIfAborted();
    throw failure(url, error);
  } finally {
    clearTimeout(timer);
  }
}

function answerIn({ status, url, headers, body }: Response, offset: number): Answer {
  const length = Number(headers.get('content-length') ?? 0);
  switch (status) {
    case 200:
      return { offset: 0, length, body: body ?? NOTHING };
    case 206:
      return { offset, length, body: body ?? NOTHING };
    case 416: // everything had arrived before the interruption
      return { offset, length: 0, body: NOTHING };
    default:
      throw new Error(`status ${status} of ${url}`);
  }
}

const NOTHING: AsyncIterable<Uint8Array> = {
  async *[Symbol.asyncIterator]() {
    // It ends at once.
  },
};

const Failed = z.object({ message: z.string().default(''), code: z.string().default('unknown error') });

/** `fetch failed` says nothing, but its cause does. Where all addresses of a host failed, that has only a code. */
function failure(url: string, error: unknown): Error {
  const { message, code } = Failed.parse(
    error instanceof Error ? (error.cause ?? error) : { code: String(error) },
  );
  return new Error(`${new URL(url).host}: ${message === '' ? code : message}`, { cause: error });
}

interface Receiving extends DownloadRequest {
  readonly part: string;
  readonly ask: () => Promise<Answer>;
  readonly onBytes: (count: number) => void;
}

/** Connects again after an interruption, as long as that brings more of the file. */
async function receive(first: Answer, { url, part, ask, onBytes, signal }: Receiving): Promise<void> {
  let answer = first;
  for (;;) {
    const before = await sizeOf(part);
    try {
      await append(answer, part, onBytes);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if ((await sizeOf(part)) <= before) throw failure(url, error);
    }
    answer = await ask();
  }
}

async function append(
  { offset, body }: Answer,
  part: string,
  onBytes: (count: number) => void,
): Promise<void> {
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      onBytes(chunk.length);
      yield chunk;
    }
  };
  await pipeline(body, counted, createWriteStream(part, { flags: offset === 0 ? 'w' : 'a' }));
}

async function verify(part: string, { url, sha }: DownloadRequest): Promise<void> {
  const hash = createHash(sha.length === 128 ? 'sha512' : 'sha256');
  // Without an encoding, a chunk is bytes.
  for await (const chunk of createReadStream(part)) hash.update(chunk as Uint8Array);
  if (hash.digest('hex') === sha) return;
  await rm(part);
  throw new Error(`${url} has a wrong checksum`);
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** The part that an interrupted download has left, or a new one. Nobody else writes to it. */
async function claimPart({ sha, folder }: DownloadRequest): Promise<string> {
  await mkdir(folder, { recursive: true });
  const id = sha.slice(0, 16);
  const claimed = join(folder, `${id}-${process.pid}-${randomBytes(4).toString('hex')}`);
  for (const name of await readdir(folder)) {
    const [file, owner] = name.split('-');
    if (file !== id || (owner !== undefined && isRunning(Number(owner)))) continue;
    // It fails where another process was faster.
    const isOurs = await rename(join(folder, name), claimed).then(
      () => true,
      () => false,
    );
    if (isOurs) break;
  }
  return claimed;
}

/** Has no effect on a file that has been moved or removed. */
async function releasePart(part: string): Promise<void> {
  const [id = ''] = basename(part).split('-');
  await rename(part, join(dirname(part), id)).catch(() => undefined);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
