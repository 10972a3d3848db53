import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openDownload, type DownloadRequest } from '../../local/download.ts';
import { freePort } from '../../local/ports.ts';
import { eventually } from '../../testing/eventually.ts';
import { FileServer } from '../support/file-server.ts';

const CONTENT = randomBytes(100_000);
const HALF = 50_000;
const SHA = shaOf(CONTENT, 'sha256');
const ID = SHA.slice(0, 16);

const server = new FileServer();
let folder: string;
let target: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'download-test-'));
  target = join(folder, 'target/file');
  await mkdir(parts());
  await server.start();
  server.serve('/file', CONTENT);
  server.ranges.length = 0;
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

function shaOf(content: Buffer, algorithm: string): string {
  return createHash(algorithm).update(content).digest('hex');
}

function parts(): string {
  return join(folder, 'parts');
}

function requestFor(path: string, changes: Partial<DownloadRequest> = {}): DownloadRequest {
  return { url: `${server.url}${path}`, sha: SHA, folder: parts(), signal: undefined, ...changes };
}

async function download(request: DownloadRequest): Promise<void> {
  await (await openDownload(request)).finish(target, () => undefined);
}

/** Comparing the bytes themselves would take a second. */
async function expectContent(file = target): Promise<void> {
  expect(shaOf(await readFile(file), 'sha256')).toBe(SHA);
}

/** Sends half of the file, and waits until the client has it. */
async function sendHalf(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-length': CONTENT.length });
  response.write(CONTENT.subarray(0, HALF));
  await eventually(async () => {
    const files = await readdir(parts());
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(parts(), file))).size));
    return sizes.includes(HALF);
  });
}

describe('a download', () => {
  it.each(['sha256', 'sha512'])('gives the file with the right %s', async (algorithm) => {
    const sha = shaOf(CONTENT, algorithm);
    const opened = await openDownload(requestFor('/file', { sha }));
    let arrived = 0;
    await opened.finish(target, (count) => (arrived += count));
    await expectContent();
    expect([opened.present, opened.missing, arrived]).toEqual([0, CONTENT.length, CONTENT.length]);
    expect(await readdir(parts())).toEqual([]);
  });

  it('gives nothing, and keeps nothing, with another checksum', async () => {
    const sha = SHA.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    await expect(download(requestFor('/file', { sha }))).rejects.toThrow(
      `${server.url}/file has a wrong checksum`,
    );
    expect(await readdir(folder)).toEqual(['parts']);
    expect(await readdir(parts())).toEqual([]);
  });

  it('goes on by itself where it was cut off', async () => {
    server.on('/cut', async (response) => {
      await sendHalf(response);
      server.serve('/cut', CONTENT);
      response.destroy();
    });
    await download(requestFor('/cut'));
    await expectContent();
    expect(server.ranges).toEqual(['bytes=0-', `bytes=${HALF}-`]);
  });

  it('ends where a server cuts it off at the same place again, and the next one goes on there', async () => {
    server.on('/cut', async (response) => {
      await sendHalf(response);
      server.on('/cut', (again) => {
        again.writeHead(206).flushHeaders();
        again.destroy();
      });
      response.destroy();
    });
    await expect(download(requestFor('/cut'))).rejects.toThrow(/^127\.0\.0\.1:\d+: /);
    server.serve('/cut', CONTENT);
    const next = await openDownload(requestFor('/cut'));
    expect([next.present, next.missing]).toEqual([HALF, CONTENT.length - HALF]);
    await next.finish(target, () => undefined);
    await expectContent();
  });

  it('ends at once when it is aborted, and the next one goes on there', async () => {
    const interrupt = new AbortController();
    server.on('/long', async (response) => {
      await sendHalf(response);
      interrupt.abort();
    });
    await expect(download(requestFor('/long', { signal: interrupt.signal }))).rejects.toThrow('aborted');
    expect(await readdir(parts())).toEqual([ID]);
  });

  it('goes on with what a process left that was killed, but not with what another one is writing', async () => {
    const { pid: ended } = spawnSync(process.execPath, ['--version']);
    await writeFile(join(parts(), `${ID}-${ended}-a`), CONTENT.subarray(0, HALF));
    await writeFile(join(parts(), `${ID}-${process.ppid}-b`), 'being written');
    await download(requestFor('/file'));
    await expectContent();
    expect(server.ranges).toEqual([`bytes=${HALF}-`]);
    expect(await readdir(parts())).toEqual([`${ID}-${process.ppid}-b`]);
  });

  it('verifies a file that had arrived before it was interrupted', async () => {
    await writeFile(join(parts(), ID), CONTENT);
    await download(requestFor('/file'));
    await expectContent();
  });

  it('begins again where the server knows no ranges', async () => {
    await writeFile(join(parts(), ID), CONTENT.subarray(0, HALF));
    server.on('/file', (response) => response.end(CONTENT));
    await download(requestFor('/file'));
    await expectContent();
  });

  it('can be made twice at once', async () => {
    const second = join(folder, 'second');
    const [one, other] = await Promise.all([
      openDownload(requestFor('/file')),
      openDownload(requestFor('/file')),
    ]);
    await Promise.all([one.finish(target, () => undefined), other.finish(second, () => undefined)]);
    await expectContent();
    await expectContent(second);
  });

  it('is given up where the server does not answer in time', async () => {
    server.on('/slow', () => undefined);
    await expect(openDownload(requestFor('/slow', { answerWithinMs: 50 }))).rejects.toThrow(
      /^127\.0\.0\.1:\d+: no answer within 0\.05 s$/,
    );
  });

  it('may take longer than that once the server has answered', async () => {
    const answerWithinMs = 500;
    let send: (() => void) | undefined;
    server.on('/steady', async (response) => {
      await sendHalf(response);
      send = () => response.end(CONTENT.subarray(HALF));
    });
    const opened = await openDownload(requestFor('/steady', { answerWithinMs }));
    const finished = opened.finish(target, () => undefined);
    await pause(answerWithinMs); // after the other timer, which is older
    (await eventually(() => send))();
    await finished;
    await expectContent();
  });

  it('says which file the server does not have', async () => {
    await expect(openDownload(requestFor('/gone'))).rejects.toThrow(`status 404 of ${server.url}/gone`);
  });

  it('says that there is no way to the server', async () => {
    const port = await freePort();
    const request = requestFor('/file', { url: `http://127.0.0.1:${port}/file` });
    await expect(openDownload(request)).rejects.toThrow(`connect ECONNREFUSED 127.0.0.1:${port}`);
  });
});
