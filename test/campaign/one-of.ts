/** The name of a method and its fields, of any method: `{ fault: 'hangs', count: 3 }`. */
export type OneOf<Kind extends string, Methods> = {
  [Name in keyof Methods]: Readonly<Record<Kind, Name>> & FieldsOf<Methods[Name]>;
}[keyof Methods];

type FieldsOf<Method> = Method extends (fields: infer Fields) => unknown ? Fields : unknown;
