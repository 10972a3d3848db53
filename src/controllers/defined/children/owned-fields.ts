import type { KubernetesObject } from '../../../contract/object.ts';
import { canonicalText, fieldsOf, listOf, textOf, type Fields } from '../../fields.ts';

/*
 * Which fields of an object are ours, as its `managedFields` say. Source: Kubernetes docs, "Server-Side Apply", and apimachinery,
 * `metav1.FieldsV1`: `f:` is a field, `k:` an item of a list by its keys, `v:` by its value, `i:` by its place; `.` is the thing itself.
 */

/** How a manager came to own fields: by applying them, or by any other write. */
type Operation = 'Apply' | 'Update';

/** The fields that our applies own; with `Update`, those that our create owns until they are handed over. */
export function ourFields(
  object: KubernetesObject,
  operation: Operation,
  manager: string,
): Fields | undefined {
  const entry = managedFieldsOf(object).find((each) => isOf(each, operation, manager));
  return entry && fieldsOf(entry['fieldsV1']);
}

/** One operation of a JSON patch. Source: RFC 6902. */
interface PatchOperation {
  readonly op: 'test' | 'replace';
  readonly path: string;
  readonly value: unknown;
}

/**
 * A JSON patch that makes our applies own what our create does: an apply removes only what an apply owned. Undefined: there is
 * nothing to hand over. It names the entry by its place and not the whole list, in which controllers write meanwhile.
 *
 * @param wanted with it, only the fields of this object are handed over, and not the defaults of the server
 */
export function handover(
  object: KubernetesObject,
  manager: string,
  wanted?: object,
): readonly PatchOperation[] | undefined {
  if (ourFields(object, 'Apply', manager) !== undefined) return undefined;
  const place = managedFieldsOf(object).findIndex((each) => isOf(each, 'Update', manager));
  const fields = ourFields(object, 'Update', manager);
  if (fields === undefined) return undefined;
  const at = `/metadata/managedFields/${place}`;
  return [
    { op: 'test', path: '/metadata/uid', value: object.metadata.uid },
    { op: 'test', path: `${at}/manager`, value: manager },
    { op: 'test', path: `${at}/operation`, value: 'Update' },
    { op: 'replace', path: `${at}/fieldsV1`, value: wanted === undefined ? fields : within(fields, wanted) },
    { op: 'replace', path: `${at}/operation`, value: 'Apply' },
  ];
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

/** Of these fields, those that an object has. */
function within(fields: Fields, value: unknown): Fields {
  const kept = Object.entries(fields).flatMap(([name, inner]) => {
    if (name === '.') return [[name, inner]];
    const part = named(value, name);
    return part === undefined ? [] : [[name, within(fieldsOf(inner), part)]];
  });
  return Object.fromEntries(kept) as Fields;
}

function named(value: unknown, name: string): unknown {
  if (name.startsWith('f:')) return fieldsOf(value)[name.slice(2)] ?? undefined;
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.find((item, place) => isNameOf(name, item, place));
}

/** A subresource is somebody else's part of the object, such as its status. */
function isOf(entry: Fields, operation: Operation, manager: string): boolean {
  const { manager: name, operation: its, subresource = '' } = entry;
  return textOf(name) === manager && its === operation && subresource === '';
}

function managedFieldsOf({ metadata }: KubernetesObject): readonly Fields[] {
  return listOf(fieldsOf(metadata)['managedFields']);
}
