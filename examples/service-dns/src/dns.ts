import { StepError } from 'durable-operator';

/** A DNS record, as the service of DNS has it. */
export interface DnsRecord {
  readonly hostname: string;
  readonly address: string;
}

const DNS_URL = process.env['DNS_URL'] ?? 'http://dns.local';

/** @returns undefined where there is no such record */
export async function askDns(
  method: 'GET' | 'PUT' | 'DELETE',
  id: string,
  signal: AbortSignal,
  record?: DnsRecord,
): Promise<DnsRecord | undefined> {
  const body = record && JSON.stringify(record);
  const headers = { 'content-type': 'application/json' };
  const request = { method, signal, headers, ...(body && { body }) };
  const response = await fetch(`${DNS_URL}/records/${id}`, request).catch((error: unknown) => {
    throw new StepError('unavailable', `DNS cannot be reached: ${String(error)}`);
  });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new StepError('unavailable', `DNS answers ${response.status}`);
  return (await response.json()) as DnsRecord;
}
