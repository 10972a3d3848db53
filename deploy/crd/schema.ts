/*
 * Structural schemas of apiextensions.k8s.io/v1, tied to TypeScript types. If a field is missing on one side, or has another
 * type, it does not compile. Every field has a description, for `kubectl explain`.
 */

/** A rule in CEL. Its message says what is wrong, and what to do. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
}

interface Described {
  readonly description: string;
  readonly 'x-kubernetes-validations'?: readonly Rule[];
}

export interface TextSchema extends Described {
  readonly type: 'string';
  readonly format?: 'date-time';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

export interface ChoiceSchema<Choice extends string> extends Described {
  readonly type: 'string';
  readonly enum: readonly Choice[];
}

export interface IntegerSchema extends Described {
  readonly type: 'integer';
  readonly format: 'int32' | 'int64';
  readonly minimum?: number;
}

export type ListSchema<Item> = Described & {
  readonly type: 'array';
  readonly items: SchemaOf<Item>;
} & ListKind<Item>;

/** How server-side apply merges it: as a whole, or item by item. */
type ListKind<Item> =
  | { readonly 'x-kubernetes-list-type': 'atomic' }
  | {
      readonly 'x-kubernetes-list-type': 'map';
      readonly 'x-kubernetes-list-map-keys': readonly (keyof Item)[];
    };

export interface ObjectSchema<T> extends Described {
  readonly type: 'object';
  readonly required?: readonly (keyof T)[];
  readonly default?: Partial<T>;
  readonly properties: PropertiesOf<T>;
}

/** Exactly the fields of the type. */
export type PropertiesOf<T> = { readonly [Field in keyof T]-?: SchemaOf<Required<T>[Field]> };

/** The schemas that fit a type. */
export type SchemaOf<T> = [T] extends [string]
  ? string extends T
    ? TextSchema
    : ChoiceSchema<T>
  : [T] extends [number]
    ? IntegerSchema
    : [T] extends [readonly (infer Item)[]]
      ? ListSchema<Item>
      : [T] extends [object]
        ? ObjectSchema<T>
        : never;

export interface ObjectDescription<T> {
  readonly description: string;
  readonly properties: PropertiesOf<T>;
  /** The fields that may be missing. Default: none. */
  readonly optional?: 'all' | readonly (keyof T)[];
}

/** The schema of an object. Fields are required unless they are listed as optional. */
export function objectOf<T extends object>(object: ObjectDescription<T>): ObjectSchema<T> {
  const { description, properties, optional = [] } = object;
  const required =
    optional === 'all' ? [] : fieldsIn(properties).filter((field) => !optional.includes(field));
  return { description, type: 'object', ...(required.length > 0 && { required }), properties };
}

function fieldsIn<T>(properties: PropertiesOf<T>): (keyof T)[] {
  const isField = (key: string): key is keyof T & string => key in properties;
  return Object.keys(properties).filter(isField);
}
