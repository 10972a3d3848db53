import type { Condition } from '../../contract/control.ts';
import { NONE } from '../../contract/digest.ts';
import type { Finding } from '../condition.ts';

/** A condition whose reason is a digest: what a resource depended on when that was observed last. */
export interface Digested {
  readonly type: string;
  readonly message: string;
}

export const REFERENCES: Digested = {
  type: 'ReferencesObserved',
  message: 'what it refers to is as it was observed',
};
export const VIEW: Digested = { type: 'ViewObserved', message: 'its view is as it was observed' };
export const OWNED: Digested = {
  type: 'OwnedObserved',
  message: 'what belongs to it is as it was observed',
};

/** Whether it is not what the status was made from. */
export function isOther({ type }: Digested, digest: string, conditions: readonly Condition[]): boolean {
  return digest !== digestIn(type, conditions);
}

/** @param digest undefined: nothing was read */
export function digestFinding(
  { type, message }: Digested,
  digest: string | undefined,
  before: readonly Condition[],
): readonly Finding[] {
  if (digest === undefined || (digest === NONE && digestIn(type, before) === NONE)) return [];
  return [{ type, status: 'True', reason: digest, message }];
}

function digestIn(type: string, conditions: readonly Condition[]): string {
  return conditions.find((each) => each.type === type)?.reason ?? NONE;
}
