/*
 * A state is compared and copied as text, thousands of times a second, and most of it is objects that do not change.
 * So a state holds a short text for each value; and of two states that differ only in the numbers that the server gave
 * its objects and their versions, one is explored.
 */

/** A value as a short text: the number of its wording, and the UIDs and resourceVersions in it. */
export type Datum = string;

/** A UID such as `uid-3`, and a resourceVersion such as `version-3.2`: the second of that object. */
const GIVEN = /uid-\d+|version-[\w-]+\.\d+/g;

const wordings: string[] = [];
const numbers = new Map<string, number>();
const values = new Map<Datum, unknown>();
/** Of the values that were made from them. */
const data = new WeakMap<object, Datum>();

export function datumOf(value: unknown): Datum {
  const known = typeof value === 'object' && value !== null ? data.get(value) : undefined;
  if (known !== undefined) return known;
  const given: string[] = [];
  const wording = JSON.stringify(value).replace(GIVEN, (each) => {
    const place = given.indexOf(each);
    return `§${place < 0 ? given.push(each) - 1 : place}§`;
  });
  return [`d${numberOf(wording)}`, ...given].join('~');
}

function numberOf(wording: string): number {
  const known = numbers.get(wording);
  if (known !== undefined) return known;
  numbers.set(wording, wordings.length);
  return wordings.push(wording) - 1;
}

/** The value, frozen. The caller says of what type it was. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller says what it reads
export function valueOf<T>(datum: Datum): T {
  if (!values.has(datum)) values.set(datum, parsed(datum));
  return values.get(datum) as T;
}

function parsed(datum: Datum): unknown {
  const [number = '', ...given] = datum.split('~');
  const wording = wordings[Number(number.slice(1))];
  if (wording === undefined) throw new Error(`there is no value ${datum}`);
  const text = wording.replace(/§(\d+)§/g, (_, place: string) => given[Number(place)] ?? '');
  const value = frozen(JSON.parse(text));
  if (typeof value === 'object' && value !== null) data.set(value, datum);
  return value;
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

/** The same state with the lowest numbers, in the same order. */
export function renumbered(state: string): string {
  const given = [...new Set(state.match(GIVEN))].map(partsOf).sort(inOrder);
  const newTexts = new Map<string, string>();
  let isSame = true;
  let [last, uids, versions] = ['', 0, 0];
  for (const { text, object, uid, version } of given) {
    if (object !== last) {
      last = object;
      versions = 0;
      if (uid !== undefined) uids += 1;
    }
    const newObject = uid === undefined ? object : String(uids);
    if (version !== undefined) versions += 1;
    const newText = version === undefined ? `uid-${newObject}` : `version-${newObject}.${versions}`;
    newTexts.set(text, newText);
    isSame &&= newText === text;
  }
  return isSame ? state : state.replace(GIVEN, (text) => newTexts.get(text) ?? text);
}

/** Object by object, and version by version. */
function inOrder(a: Given, b: Given): number {
  if (a.object !== b.object) return (a.uid ?? 0) - (b.uid ?? 0) || (a.object < b.object ? -1 : 1);
  return (a.version ?? 0) - (b.version ?? 0);
}

interface Given {
  readonly text: string;
  /** Its own UID, or the one of its object, without the beginning. */
  readonly object: string;
  /** Undefined where it is no number: such an object keeps its UID. */
  readonly uid: number | undefined;
  /** Of a resourceVersion. */
  readonly version: number | undefined;
}

const parts = new Map<string, Given>();

function partsOf(text: string): Given {
  const known = parts.get(text);
  if (known !== undefined) return known;
  const [, object = '', version] = /^(?:uid|version)-([\w-]+)(?:\.(\d+))?$/.exec(text) ?? [];
  const uid = /^\d+$/.test(object) ? Number(object) : undefined;
  const given = { text, object, uid, version: version === undefined ? undefined : Number(version) };
  parts.set(text, given);
  return given;
}

/** A UID that nothing in the state has. */
export function freshUid(state: string): string {
  const taken = [...new Set(state.match(GIVEN))].map((text) => partsOf(text).uid ?? 0);
  return `uid-${Math.max(0, ...taken) + 1}`;
}

/** The first resourceVersion of an object, or the one after that. */
export function versionAfter(uid: string, version: string | undefined): string {
  const [, , number = '0'] = /^version-([\w-]+)\.(\d+)$/.exec(version ?? '') ?? [];
  return `version-${uid.replace(/^uid-/, '')}.${Number(number) + 1}`;
}
