import { startInBytes } from '../src/controllers/text.ts';

/** Temporal's default for the payload of a summary is 400 bytes; encryption adds to what it holds. */
const SUMMARY_MAX_BYTES = 240;

/** As much of a text as the summary of an activity or timer may hold: names and what people give as a reason can be long. */
export function asSummary(text: string): string {
  const start = startInBytes(text, SUMMARY_MAX_BYTES);
  return start === text ? text : `${start}…`;
}
