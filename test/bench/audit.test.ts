import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countCalls, eventsApart, readFrom, sizeOf, totalOf } from '../../bench/audit.ts';

const OPERATOR = { user: 'operator', userAgent: 'durable-operator/1.0' };

const PATCH = {
  stage: 'ResponseComplete',
  verb: 'patch',
  userAgent: 'durable-operator/1.0',
  user: { username: 'operator' },
  objectRef: { resource: 'pods' },
  responseStatus: { code: 200 },
};

function log(...entries: object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

describe('the calls that are counted', () => {
  it('are told apart by verb, resource and code', () => {
    const conflict = { ...PATCH, responseStatus: { code: 409 } };
    const status = { ...PATCH, objectRef: { resource: 'pods', subresource: 'status' } };
    expect(countCalls(log(PATCH, conflict, PATCH, status), OPERATOR)).toEqual({
      'patch pods 200': 2,
      'patch pods 409': 1,
      'patch pods/status 200': 1,
    });
  });

  it('are those of the caller, by user and by program', () => {
    const others = [
      { ...PATCH, userAgent: 'durable-operator/1.0-test' },
      { ...PATCH, user: { username: 'admin' } },
    ];
    expect(countCalls(log(...others), OPERATOR)).toEqual({});
  });

  it('are no watches and no leases', () => {
    const lease = { ...PATCH, objectRef: { resource: 'leases' } };
    expect(countCalls(log({ ...PATCH, verb: 'watch' }, lease), OPERATOR)).toEqual({});
  });

  it('are answered ones, each counted once', () => {
    expect(countCalls(log({ ...PATCH, stage: 'RequestReceived' }, PATCH), OPERATOR)).toEqual({
      'patch pods 200': 1,
    });
  });

  it('include those of no resource', () => {
    const discovery = { ...PATCH, verb: 'get', objectRef: undefined };
    expect(countCalls(log(discovery), OPERATOR)).toEqual({ 'get (no resource) 200': 1 });
  });

  it('do not include a line that is still being written', () => {
    expect(countCalls(log(PATCH) + log(PATCH).slice(0, -10), OPERATOR)).toEqual({ 'patch pods 200': 1 });
  });

  it('are told apart from those that write Events', () => {
    const counts = {
      'create events 201': 3,
      'patch events 200': 1,
      'create pods 201': 2,
      'get eventsets 200': 1,
    };
    expect(eventsApart(counts)).toEqual({
      events: { 'create events 201': 3, 'patch events 200': 1 },
      others: { 'create pods 201': 2, 'get eventsets 200': 1 },
    });
  });

  it('add up', () => {
    expect(totalOf({ 'patch pods 200': 2, 'get pods 200': 1 })).toBe(3);
  });
});

describe('a piece of the audit log', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'durable-operator-audit-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('holds what was logged since its length was taken', async () => {
    const file = join(folder, 'audit.log');
    await writeFile(file, 'befüre\n');
    const start = await sizeOf(file);
    await appendFile(file, 'after\n');
    expect(await readFrom(file, start)).toBe('after\n');
  });
});
