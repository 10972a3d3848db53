import { delimiter } from 'node:path';
import { z } from 'zod';
import { durationMs } from '../api/duration.ts';
import { whyNotReadable } from './readable.ts';

/*
 * The kinds of values that options have. Each schema takes what any source may hold (text from flags and
 * environment; text, numbers, booleans and lists from a file), says in its message what to write instead, and
 * encodes a value as the text of a flag.
 */

/** Where to listen; an empty host is every interface. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** For the operator and for those who ask it. A timer of Node cannot be longer than 24.8 days. */
export const credentialsTimeout = durationMs({ from: '1s', to: '24d' });

/** `:9098`, `127.0.0.1:9098`, `[::1]:9098`; `0` is off. */
export const listenAddress = z.codec(z.unknown(), z.custom<ListenAddress | 'off'>(), {
  decode: (raw, payload) => {
    const text = typeof raw === 'number' ? String(raw) : raw;
    if (text === '0') return 'off';
    const match = typeof text === 'string' ? /^(\[[0-9a-f:.]+\]|[^:[\]\s/]*):(\d{1,5})$/i.exec(text) : null;
    const port = Number(match?.[2]);
    if (match !== null && port <= 65535) {
      return { host: (match[1] ?? '').replace(/^\[(.*)\]$/, '$1'), port };
    }
    return problem(payload, 'is not an address; write :PORT, HOST:PORT or [IPV6]:PORT, or 0 to disable it');
  },
  encode: (address) => {
    if (address === 'off') return '0';
    return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
  },
});

/** @param what they are, for the message: `requests` */
export function countUpTo(what: string, { from = 1, to = 10_000 } = {}) {
  return z.codec(z.unknown(), z.number(), {
    decode: (raw, payload) => {
      const value = typeof raw === 'string' && /^\d{1,9}$/.test(raw.trim()) ? Number(raw) : raw;
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= from && value <= to)
        return value;
      return problem(payload, `is not a number of ${what}; write a whole number from ${from} to ${to}`);
    },
    encode: String,
  });
}

/** A positive number, such as `20`. */
export const count = countUpTo('objects', { to: 1_000_000_000 });

export const boolean = z.codec(z.unknown(), z.boolean(), {
  decode: (raw, payload) => {
    if (raw === true || raw === 'true' || raw === '1') return true;
    if (raw === false || raw === 'false' || raw === '0') return false;
    return problem(payload, 'is not a boolean; write true or false');
  },
  encode: String,
});

export const text = z
  .string('is not a string; put it in quotes')
  .trim()
  .min(1, 'is empty; write a value, or leave the option out');

/** One of some words. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return z.enum(words, {
    error: () => `is unknown; write one of ${words.join(', ')}`,
  });
}

/** At least one of the words; in the order of the words. */
export function someOf<const Word extends string>(words: readonly Word[]) {
  return listCodec(oneOf(words))
    .refine((chosen) => chosen.length > 0, `is empty; write one or more of ${words.join(', ')}`)
    .overwrite((chosen) => words.filter((word) => chosen.includes(word)));
}

/** `a,b`, or a list in a file; each entry once. */
export function listCodec<Entry extends string>(entry: z.ZodType<Entry>) {
  return z.codec(z.unknown(), z.array(entry), {
    decode: (raw, payload) => entriesIn(raw) ?? problem(payload, NO_LIST),
    encode: (entries) => entries.join(','),
  });
}

export const NO_LIST = 'is not a list; write names separated by commas';

/** Each once; undefined: it is no list. */
export function entriesIn(raw: unknown): unknown[] | undefined {
  const entries: unknown = typeof raw === 'string' ? splitAtCommas(raw) : raw;
  return Array.isArray(entries) ? [...new Set<unknown>(entries)] : undefined;
}

function splitAtCommas(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

export const readableFile = readable((path) => [path]);

/** One or several, as in `KUBECONFIG`. */
export const readableFiles = readable((paths) => paths.split(delimiter));

/** Of several files kubectl, too, needs only one to be there. */
function readable(filesIn: (value: string) => string[]) {
  return text.superRefine((value, context) => {
    const reasons = filesIn(value).map(whyNotReadable);
    if (reasons.includes(undefined)) return;
    context.addIssue(`cannot be read: ${reasons[0] ?? ''}; specify a readable file`);
  });
}

/** A name that others define: the API server, Temporal, the container runtime. */
function name(
  what: string,
  rule: { readonly most: number; readonly pattern: RegExp; readonly advice: string },
) {
  return text
    .max(rule.most, `is longer than the ${rule.most} characters that ${what} may have`)
    .regex(rule.pattern, `is not ${what}; ${rule.advice}`);
}

/** A DNS label. Source: Kubernetes docs, "Object Names and IDs". */
export const namespaceName = name('a namespace name', {
  most: 63,
  pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
  advice: 'use lower-case letters, digits and "-", with a letter or digit at both ends',
});

/** Ours: it stands in list filters of Temporal, and in messages. */
export const clusterName = name('a cluster name', {
  most: 253,
  pattern: /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  advice: 'use letters, digits, "-", "_" and ".", with a letter or digit at both ends',
});

/** A DNS subdomain. Source: Kubernetes docs, "Object Names and IDs". */
export const leaseName = name('a Lease name', {
  most: 253,
  pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
  advice: 'use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
});

/** Excludes only what can be no image; the container runtime reports the rest. */
export const imageName = name('an image name', {
  most: 512,
  pattern: /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/,
  advice: 'write one such as golang:1.13 or registry.example/team/golang:1.13',
});

/** Source: Temporal's server; whose list filters do not find the characters that are excluded. */
export const taskQueueName = name('a task queue name', {
  most: 1000,
  pattern: /^(?!\/_sys\/|')[^"\\\p{Cc}\p{Cs}]+(?<!')$/u,
  advice: 'leave out " and \\ and control characters, \' at either end, and /_sys/ at the start',
});

/** Source: Temporal's server, which joins deployment and build ID with these characters. */
export const workerDeploymentName = name('a worker deployment name', {
  most: 255,
  pattern: /^(?!__)[^.:]+$/,
  advice: 'leave out "." and ":", and "__" at the start',
});

export const workerBuildId = name('a build ID', {
  most: 255,
  pattern: /^(?!__)[^:]+$/,
  advice: 'leave out ":", and "__" at the start',
});

/** As a browser sends it: scheme, host and port, nothing more. */
export const origin = text.refine(
  (given) => URL.canParse(given) && new URL(given).origin === given,
  'is not an origin; write one such as http://localhost:8233, without a path',
);

/** Of a page: `http://localhost:8233`, or with a path; without a slash at the end. */
export const webAddress = text.regex(
  /^https?:\/\/[^\s?#]*[^\s?#/]$/,
  'is not the URL of a page; write one such as http://localhost:8233, without a slash at the end',
);

function problem(payload: z.core.ParsePayload, message: string): never {
  payload.issues.push({ code: 'custom', message, input: payload.value });
  return z.NEVER;
}
