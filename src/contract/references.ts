import { createHash } from 'node:crypto';

/** What a resource refers to in one type. */
export interface References {
  /** `namespace/name`, or `name` where the type is cluster-scoped. */
  readonly keys: readonly string[];
  /** Labels of others; undefined: none are selected. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Of those that are selected; undefined: any. */
  readonly namespace?: string | undefined;
}

/** What is known of an object that is referred to. */
export interface Referred {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export function isSelectedBy(
  { labels, namespace }: References,
  object: {
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  },
): boolean {
  if (labels === undefined || (namespace !== undefined && namespace !== object.namespace)) return false;
  return Object.entries(labels).every(([name, value]) => object.labels?.[name] === value);
}

/** A text for what a resource refers to in one type, as it is: another one once an object changes, comes or goes. */
export function stateOf(
  type: string,
  keys: readonly string[],
  there: readonly Referred[],
): readonly string[] {
  const found = new Map(there.map((each) => [each.key, `${each.uid} ${each.resourceVersion}`]));
  const all = new Set([...keys, ...found.keys()]);
  return [...all].map((key) => `${type} ${key} ${found.get(key) ?? 'absent'}`).sort();
}

/** In a condition's reason, which is made of letters, digits and `_`. */
export function digestOf(states: readonly string[]): string {
  if (states.length === 0) return NO_REFERENCES;
  return `Sha256_${createHash('sha256').update(states.join('\n')).digest('hex').slice(0, 16)}`;
}

export const NO_REFERENCES = 'None';
