import { StepError } from 'durable-operator';

/** A record, as the DNS has it. */
export interface StoredRecord {
  readonly id: string;
  readonly hostname: string;
  readonly address: string;
}

const DNS_URL = process.env['DNS_URL'] ?? 'http://dns.local';

/** @returns undefined where there is no such record, or none yet: what the DNS shows lags */
export async function findRecord(id: string, signal: AbortSignal): Promise<StoredRecord | undefined> {
  const response = await ask('GET', `records/${id}`, signal);
  return response.status === 404 ? undefined : ((await response.json()) as StoredRecord);
}

/** Of what is gone already, nothing is left to be changed or removed. @returns the ID of the record */
export async function askDns(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  signal: AbortSignal,
  body?: object,
): Promise<Pick<StoredRecord, 'id'>> {
  const response = await ask(method, path, signal, body);
  return (await response.json()) as StoredRecord;
}

async function ask(method: string, path: string, signal: AbortSignal, body?: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const request = { method, signal, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(`${DNS_URL}/${path}`, request).catch((error: unknown) => {
    throw new StepError('unavailable', `the DNS does not answer: ${String(error)}`);
  });
  if (response.status === 429) {
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 1) * 1_000;
    throw new StepError('retry-after', 'the DNS limits its requests', { retryAfterMs });
  }
  if (!response.ok && response.status !== 404)
    throw new StepError('unavailable', `the DNS answers ${response.status}`);
  return response;
}
