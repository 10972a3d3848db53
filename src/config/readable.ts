import { accessSync, constants } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';

/** Why a file cannot be read, in words; undefined where it can. */
export function whyNotReadable(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return whyUnreadable(error);
  }
}

/** What the system says, such as `no such file or directory`; of other errors the first line. */
export function whyUnreadable(error: unknown): string {
  const errno = typeof error === 'object' && error !== null && 'errno' in error ? error.errno : undefined;
  if (typeof errno === 'number') return getSystemErrorMessage(errno);
  return firstLineOf(error instanceof Error ? error.message : String(error));
}

export function firstLineOf(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** On one line, with what a terminal would not show, or obey, written as its code: `\u{a}`. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
