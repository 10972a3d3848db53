import { reasonOf, type Next } from '../contract/decision.ts';
import { ENCRYPTED_WORDS, type RunStory, type StepEntry } from './run-story.ts';

/** Only the server's words of what an ApiError says: what was asked is of no interest to who reads them. */
export function serversWords(message: string): string {
  return message.replace(/^(?:GET|POST|PATCH|PUT|DELETE|WATCH) \S+: (?:\d{3} )?/, '');
}

/** The reason of a decision, without what its kind says already. */
export function decisionText(next: Next): string {
  return reasonOf(next).replace(/^waiting for /, '');
}

/** What takes a key says so. */
export function shown(words: string): string {
  return words === ENCRYPTED_WORDS ? '(encrypted; give the keys with --payload-keys)' : words;
}

export function lastStepOf(story: RunStory | undefined): StepEntry | undefined {
  return story?.entries.findLast(
    (entry): entry is StepEntry => entry.kind === 'step' && entry.end.how === 'done',
  );
}
