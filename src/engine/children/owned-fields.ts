import type { KubernetesObject } from '../../api/object.ts';
import { MANAGED_BY } from '../../api/kinds.ts';
import { canonicalText, fieldsOf, listOf, textOf, type Fields } from '../../api/fields.ts';

/*
 * Which fields of an object are ours, as its `managedFields` say. Source: Kubernetes docs, "Server-Side Apply", and apimachinery,
 * `metav1.FieldsV1`: `f:` is a field, `k:` an item of a list by its keys, `v:` by its value, `i:` by its place; `.` is the thing itself.
 */

/** The fields that our applies own. Undefined: nothing of it was applied. */
export function ourFields(object: KubernetesObject, manager = MANAGED_BY): Fields | undefined {
  const entry = managedFieldsOf(object).find((each) => isApply(each, manager));
  return entry && fieldsOf(entry['fieldsV1']);
}

/** The part of an object that these fields name. Items of lists keep their order. */
export function partOf(value: unknown, fields: Fields): unknown {
  const names = Object.keys(fields).filter((name) => name !== '.');
  if (names.length === 0) return value;
  if (Array.isArray(value)) return itemsOf(value, names, fields);
  return Object.fromEntries(
    names.map((name) => [name.slice(2), partOf(fieldsOf(value)[name.slice(2)], fieldsOf(fields[name]))]),
  );
}

function itemsOf(list: readonly unknown[], names: readonly string[], fields: Fields): readonly unknown[] {
  return list.flatMap((item, place) => {
    const name = names.find((each) => isNameOf(each, item, place));
    return name === undefined ? [] : [partOf(item, fieldsOf(fields[name]))];
  });
}

/** Whether the name is that of the item. A key that the item lacks has the server's default. */
function isNameOf(name: string, item: unknown, place: number): boolean {
  const rest = name.slice(2);
  if (name.startsWith('i:')) return Number(rest) === place;
  const named: unknown = JSON.parse(rest);
  if (name.startsWith('v:')) return canonicalText(named) === canonicalText(item);
  return Object.entries(fieldsOf(named)).every(([key, value]) => (fieldsOf(item)[key] ?? value) === value);
}

/** A subresource is somebody else's part of the object, such as its status. */
function isApply(entry: Fields, manager: string): boolean {
  const { manager: name, operation: its, subresource = '' } = entry;
  return textOf(name) === manager && its === 'Apply' && subresource === '';
}

function managedFieldsOf({ metadata }: KubernetesObject): readonly Fields[] {
  return listOf(fieldsOf(metadata)['managedFields']);
}
