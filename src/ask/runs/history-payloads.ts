import type { Payload } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { waitingFor } from '../../contract/sentences.ts';
import { readPayload, type Read } from './payloads.ts';
import { ENCRYPTED_WORDS, type StepEnd, type StepFailure } from './timeline.ts';

/*
 * What our workflows and activities, and the SDK, write into the payloads of a history.
 */

type MaybePayload = Payload | null | undefined;

const RunInput = z.object({ reason: z.string() });

/** Why a run was started; empty where it does not say. @param input the first argument of the workflow */
export function reasonIn(input: MaybePayload): string {
  return wordsOf(readPayload(input), (value) => RunInput.safeParse(value).data?.reason);
}

/** A text; undefined where there is no payload. */
export function textIn(payload: MaybePayload): string | undefined {
  const read = readPayload(payload);
  if (read === undefined) return undefined;
  return wordsOf(read, (value) => (typeof value === 'string' ? value : undefined));
}

function wordsOf(read: Read | undefined, parse: (value: unknown) => string | undefined): string {
  if (read === 'encrypted') return ENCRYPTED_WORDS;
  return (read && parse(read.value)) ?? '';
}

const LocalActivity = z.object({
  activity_type: z.string().optional(),
  attempt: z.number().optional(),
  complete_time: z.object({ seconds: z.number(), nanos: z.number().default(0) }).nullish(),
});

/** What the SDK's core writes of a local activity. Source: sdk-core, `LocalActivityMarkerData`. */
export function localActivityIn(data: MaybePayload): z.infer<typeof LocalActivity> {
  return LocalActivity.safeParse(plainValueOf(data)).data ?? {};
}

const RunState = z.string().min(1);

/** A value of the search attribute `RunState`: undefined where it was taken away. */
export function runStateIn(attribute: MaybePayload): string | undefined {
  return RunState.safeParse(plainValueOf(attribute)).data;
}

function plainValueOf(payload: MaybePayload): unknown {
  const read = readPayload(payload);
  return read === undefined || read === 'encrypted' ? undefined : read.value;
}

const Deeds = z.array(
  z.object({
    did: z.string(),
    what: z.string(),
    count: z.number().optional(),
    names: z.array(z.string()).optional(),
  }),
);

const Result = z.object({
  did: Deeds,
  next: z.object({ do: z.string(), because: z.string().optional(), for: z.string().optional() }).optional(),
  refusal: z.object({ message: z.string() }).optional(),
});

/** How a step has ended. @param result of its activity: a `StepResult` */
export function doneWith(result: MaybePayload, tookMs: number): StepEnd {
  const read = readPayload(result);
  const nothing = { how: 'done', tookMs, did: [], next: undefined, refusal: undefined } as const;
  if (read === undefined) return nothing;
  if (read === 'encrypted') return { ...nothing, did: 'encrypted' };
  const parsed = Result.safeParse(read.value).data;
  if (parsed === undefined) return nothing;
  const { did, next, refusal } = parsed;
  const because = next?.because ?? (next?.for === undefined ? '' : waitingFor(next.for));
  return {
    how: 'done',
    tookMs,
    did: did.map(({ count, names, ...deed }) => ({
      ...deed,
      ...(count && { count }),
      ...(names && { names }),
    })),
    next: next && { do: next.do, because },
    refusal: refusal?.message,
  };
}

const EncodedFailure = z.object({ message: z.string() });

/** With encryption, the message of a failure is in a payload of its own. */
export function failureOf({
  message,
  encodedAttributes,
  applicationFailureInfo,
  timeoutFailureInfo,
}: temporal.api.failure.v1.IFailure): StepFailure {
  const type = applicationFailureInfo?.type ?? (timeoutFailureInfo ? 'Timeout' : undefined);
  const read = readPayload(encodedAttributes);
  if (read === undefined) return { type, message: message ?? '' };
  return { type, message: wordsOf(read, (value) => EncodedFailure.safeParse(value).data?.message) };
}

/** Seconds are a Long in protobuf, and a number in JSON. */
interface Moment {
  readonly seconds?: { toNumber(): number } | number | null | undefined;
  readonly nanos?: number | null | undefined;
}

/** Of a timestamp or a duration of protobuf; nanoseconds are cut off. */
export function msOf(time: Moment | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6);
}
