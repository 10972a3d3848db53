import parse from 'parse-duration';
import { z } from 'zod';
import { closestMatch } from 'leven';
import { parseLabelSelector } from '../controllers/label-selector.ts';

/*
 * The kinds of values that options have. Each schema takes what any source may hold (text from flags and
 * environment; text, numbers, booleans and lists from a file) and its message says what to write instead.
 */

/** Written as `3m`, `90s`, `1h30m`, `500ms`; milliseconds. */
export function duration(range: { readonly from: string; readonly to: string }) {
  const [from, to] = [millisecondsIn(range.from) ?? 0, millisecondsIn(range.to) ?? Infinity];
  return z.unknown().transform((raw, context) => {
    const milliseconds = typeof raw === 'string' ? millisecondsIn(raw) : undefined;
    if (milliseconds === undefined) {
      return problem(context, 'is not a duration; write a number and a unit, such as 3m, 90s, 1h or 500ms');
    }
    if (milliseconds < from || milliseconds > to) {
      return problem(context, `is out of range; write a duration from ${range.from} to ${range.to}`);
    }
    return milliseconds;
  });
}

/** The library forgives what it does not know, so the whole text is held against the form first. */
function millisecondsIn(text: string): number | undefined {
  if (!/^\s*(\d+(\.\d+)?(ms|s|m|h|d))+\s*$/.test(text)) return undefined;
  return parse(text) ?? undefined;
}

/** `:9098`, `127.0.0.1:9098`, `[::1]:9098`; `0` is off. An empty host is every interface. */
export const listenAddress = z.unknown().transform((raw, context) => {
  const text = typeof raw === 'number' ? String(raw) : raw;
  if (text === '0') return 'off' as const;
  const match = typeof text === 'string' ? /^(\[[0-9a-f:.]+\]|[^:[\]\s/]*):(\d{1,5})$/i.exec(text) : null;
  const port = Number(match?.[2]);
  if (match === null || port > 65535) {
    return problem(context, 'is not an address; write :PORT, HOST:PORT or [IPV6]:PORT, or 0 for none');
  }
  return { host: (match[1] ?? '').replace(/^\[(.*)\]$/, '$1'), port };
});

export const flag = z.unknown().transform((raw, context) => {
  if (raw === true || raw === 'true' || raw === '1') return true;
  if (raw === false || raw === 'false' || raw === '0') return false;
  return problem(context, 'is neither true nor false; write one of them');
});

export const text = z
  .string({ error: 'is not text; write a text, in quotes where it looks like something else' })
  .trim()
  .min(1, 'is empty; write a value, or leave the option out');

/** One of some words; a near miss is told which was meant. */
export function oneOf<Word extends string>(words: readonly Word[]) {
  return z.unknown().transform((raw, context) => {
    const word = words.find((candidate) => candidate === raw);
    return (
      word ?? problem(context, `is not known${suggestion(raw, words)}; write one of ${words.join(', ')}`)
    );
  });
}

/** `a,b`, or a list in a file; each entry once. */
export function listOf<Entry>(entry: z.ZodType<Entry>) {
  return z.unknown().transform((raw, context) => {
    const entries = entriesOf(raw);
    if (entries === undefined) return problem(context, 'is not a list; write names with commas between them');
    const parsed = entries.map((each) => ({ each, result: entry.safeParse(each) }));
    const wrong = parsed.find(({ result }) => !result.success);
    if (wrong?.result.error) {
      return problem(context, `names ${JSON.stringify(wrong.each)}, which ${messageOf(wrong.result.error)}`);
    }
    return [...new Set(parsed.flatMap(({ result }) => (result.success ? [result.data] : [])))];
  });
}

function entriesOf(raw: unknown): unknown[] | undefined {
  if (Array.isArray(raw)) {
    const entries: unknown[] = raw;
    return entries;
  }
  if (typeof raw !== 'string') return undefined;
  return raw
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** A Namespace's name: a DNS label. Source: Kubernetes docs, "Object Names and IDs". */
export const namespaceName = z
  .string({ error: 'is not a name' })
  .max(63, 'is longer than the 63 characters that a namespace name may have')
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'is not a namespace name; use lower-case letters, digits and "-", with a letter or digit at both ends',
  );

/** Kept as text; parsed only to refuse what cannot be parsed. */
export const labelSelector = z
  .string({ error: 'is not a label selector; write for example team=a,env in (dev,test)' })
  .superRefine((selector, context) => {
    try {
      parseLabelSelector(selector);
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: `is wrong: ${error instanceof Error ? error.message : ''}`,
      });
    }
  });

/**
 * RBAC objects may be named by anything that can be a segment of a path.
 * Source: k8s.io/apimachinery/pkg/api/validation/path, `IsValidPathSegmentName`.
 */
export const clusterRoleName = z
  .string({ error: 'is not a name' })
  .min(1, 'is empty; name a ClusterRole, such as edit')
  .max(253, 'is longer than 253 characters')
  .regex(
    /^(?!\.{1,2}$)[^/%\s\p{Cc}]+$/u,
    'is no name of a ClusterRole; it must not be "." or "..", nor hold "/", "%" or spaces',
  );

const LONGEST_NAME = 253;
const LONGEST_NAMESPACE = 63;

/** Whatever namespace follows it, the whole must be a name. */
export const bindingNamePrefix = z
  .string({ error: 'is not text' })
  .max(
    LONGEST_NAME - LONGEST_NAMESPACE,
    `is longer than ${LONGEST_NAME - LONGEST_NAMESPACE} characters, so that with a namespace of ${LONGEST_NAMESPACE} the name were too long`,
  )
  .regex(/^[^/%\s\p{Cc}]*$/u, 'cannot begin the name of a RoleBinding; leave out "/", "%" and spaces');

/** Not its whole grammar: only what can be none. The container runtime tells the rest. */
export const imageName = text
  .max(512, 'is longer than 512 characters')
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/,
    'is no name of an image; write one such as golang:1.13 or registry.example/team/golang:1.13',
  );

/** Mounted into containers, so neither the whole file system nor a part that the kernel shows. */
export const hostDirectory = text
  .max(1024, 'is longer than 1024 characters')
  .regex(
    /^(\/\.*[A-Za-z0-9_+@~-][A-Za-z0-9._+@~-]*)+$/,
    'is not an absolute path without ".", ".." or a slash at its end; write one such as /opt',
  )
  .regex(/^(?!\/(proc|sys|dev)(\/|$))/, "is the kernel's; write another directory, such as /opt");

/** Source: Temporal's server, which keeps `/_sys/` for itself and refuses longer names. */
export const taskQueueName = text
  .max(1000, 'is longer than the 1000 characters that a task queue name may have')
  .refine(
    (name) => !name.startsWith('/_sys/'),
    'begins with /_sys/, which Temporal keeps for itself; choose another name',
  );

/** A DNS subdomain. Source: Kubernetes docs, "Object Names and IDs". */
export const leaseName = z
  .string({ error: 'is not a name' })
  .max(253, 'is longer than the 253 characters that a name may have')
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
    'is no name of a Lease; use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
  );

/** Source: Temporal's server, which joins deployment and build id with these. */
export const deploymentNameOfWorkers = text
  .max(255, 'is longer than 255 characters')
  .regex(/^(?!__)[^.:]+$/, 'is no name of a worker deployment; leave out "." and ":", and "__" at its start');

export const workerBuildId = text
  .max(255, 'is longer than 255 characters')
  .regex(/^(?!__)[^:]+$/, 'is no build id; leave out ":", and "__" at its start');

/** As a browser sends it: scheme, host and port, nothing more. */
export const origin = z.unknown().transform((raw, context) => {
  if (typeof raw === 'string' && URL.canParse(raw) && new URL(raw).origin === raw) return raw;
  return problem(context, 'is not an origin; write one such as http://localhost:8233, without a path');
});

/** ` (did you mean …?)`, or nothing where no candidate is near. */
export function suggestion(given: unknown, candidates: readonly string[]): string {
  if (typeof given !== 'string') return '';
  const nearest = closestMatch(given, candidates, { maxDistance: Math.max(2, Math.floor(given.length / 3)) });
  return nearest === undefined ? '' : ` (did you mean ${nearest}?)`;
}

/** The sentence of the first thing that is wrong. */
export function messageOf(error: z.ZodError): string {
  return error.issues[0]?.message ?? 'is not valid';
}

function problem(context: z.core.$RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
