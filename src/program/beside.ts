import { hidesNote, isKind, keepsNote } from '../api/controller.ts';
import { misnamed, refuse } from '../api/limits.ts';
import type { WatchedType } from '../api/watched.ts';
import { typeNameOf } from '../api/resource-type.ts';
import type { AnyDefinition } from '../engine/definition.ts';
import { noteKeyOf } from '../engine/note.ts';
import { declaredTypes } from '../engine/children/declared.ts';

/** What an operator is made of. */
interface Beside {
  readonly name: string;
  readonly controllers: readonly AnyDefinition[];
}

/** The same controller: of several for one kind, all but one leave its status alone. */
export function besideOthers(one: AnyDefinition, { name, controllers }: Beside): AnyDefinition {
  const isShared =
    controllers.filter((each) => isOfKind(each) && typeNameOf(typeOf(each)) === typeNameOf(typeOf(one)))
      .length > 1;
  return { ...one, operator: name, ...(isShared && !hasConditions(one) && { leavesStatus: true }) };
}

/** @throws Error in one sentence that says what is allowed, where controllers cannot be told apart, or would disturb each other */
export function requireBeside(program: Beside): void {
  const { name: operator, controllers } = program;
  const names = controllers.map(({ name }) => name);
  const twice = twiceIn(names);
  const byType = Map.groupBy(controllers, (each) => typeNameOf(typeOf(each)));
  const marked = controllers.map((each) => besideOthers(each, program));
  refuse(`operator ${operator}`, [
    misnamed('operator', operator),
    names.length === 0 && 'it must have at least one controller',
    twice !== undefined && `two controllers are named ${twice}; each must have a name of its own`,
    ...[...byType].flatMap(([type, those]) => (those.length > 1 ? problemsOf(type, those) : [])),
    ...marked.filter(({ leavesStatus }) => leavesStatus).map(hidesNote),
  ]);
  marked.filter(keepsNote).forEach(noteKeyOf);
}

function problemsOf(type: string, those: readonly AnyDefinition[]): readonly (string | false)[] {
  const ofKind = those.filter(isOfKind);
  const writers = ofKind.filter(hasConditions);
  const finalizer = twiceIn(those.flatMap((each) => each.finalizer ?? []));
  const declared = twiceIn(those.flatMap((each) => declaredTypes(each).map(typeNameOf)));
  const retired = those.flatMap((each) => retiredBeside(each, those))[0];
  return [
    retired !== undefined &&
      `of the controllers ${namesOf(those)} for ${type}, one would delete the ${retired} that another one owns`,
    writers.length > 1 &&
      `the controllers ${namesOf(writers)} for ${type} have status or children, and only one of them may: it writes the conditions`,
    ofKind.length > 1 &&
      writers.length === 0 &&
      `none of the controllers ${namesOf(ofKind)} for ${type} has status or children: give status to the one that writes the conditions`,
    finalizer !== undefined &&
      `the controllers ${namesOf(those)} for ${type} need different finalizers, and not ${finalizer} twice`,
    declared !== undefined &&
      `the controllers ${namesOf(those)} for ${type} both declare ${declared}, and each would delete those of the other`,
  ];
}

function retiredBeside(one: AnyDefinition, those: readonly AnyDefinition[]): readonly string[] {
  const others = those.filter((each) => each !== one);
  const owned = others.flatMap(({ owns = [] }) => (owns as readonly WatchedType[]).map(typeNameOf));
  return (one.retired ?? []).map(typeNameOf).filter((name) => owned.includes(name));
}

function hasConditions(definition: AnyDefinition): boolean {
  return definition.status !== undefined || definition.children !== undefined;
}

function isOfKind(definition: AnyDefinition): boolean {
  return isKind(typeOf(definition));
}

function typeOf({ for: type }: AnyDefinition): WatchedType {
  return type;
}

function namesOf(definitions: readonly AnyDefinition[]): string {
  return definitions.map(({ name }) => name).join(' and ');
}

function twiceIn(texts: readonly string[]): string | undefined {
  return texts.find((text, place) => texts.indexOf(text) !== place);
}
