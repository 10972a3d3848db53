import { hidesNote, isKind } from '../api/controller.ts';
import { refuse } from '../api/limits.ts';
import type { WatchedType } from '../api/watched.ts';
import { typeNameOf } from '../api/resource-type.ts';
import type { AnyDefinition } from '../engine/definition.ts';
import { declaredTypes } from '../engine/children/declared.ts';

/** The same controllers: of several for one kind, all but one leave its status alone. @throws Error in one sentence where they would disturb each other */
export function besideEachOther(
  definitions: readonly AnyDefinition[],
  operator: string,
): readonly AnyDefinition[] {
  const byType = Map.groupBy(definitions, (each) => typeNameOf(typeOf(each)));
  const marked = definitions.map((each): AnyDefinition => {
    const others = byType.get(typeNameOf(typeOf(each))) ?? [];
    const isSecond = others.filter(isOfKind).length > 1 && !hasConditions(each);
    return isSecond ? { ...each, leavesStatus: true } : each;
  });
  refuse(`operator ${operator}`, [
    ...[...byType].flatMap(([type, those]) => (those.length > 1 ? problemsOf(type, those) : [])),
    ...marked.filter(({ leavesStatus }) => leavesStatus).map(hidesNote),
  ]);
  return marked;
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
