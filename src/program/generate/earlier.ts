import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { breakingChanges } from './breaking-changes.ts';
import type { Installed } from './chart.ts';
import { Definition } from './field-schema.ts';
import { readText } from './files.ts';
import { addedRules, ruleText } from './merge-rules.ts';
import { LEAVES_ANNOTATION } from './operator-objects.ts';

/** What is different from the files that are there, and that somebody has to agree to. */
export interface GeneratedChanges {
  /** What stored resources or manifests can no longer have. */
  readonly breaking: readonly string[];
  /** What would stay in clusters, since no controller knows of it any more. */
  readonly forgotten: readonly string[];
  /** What the operator may do, and could not do before. */
  readonly rights: readonly string[];
  /** Files of definitions that the program no longer has. */
  readonly left: readonly string[];
}

export async function changesFrom(directory: string, installed: Installed): Promise<GeneratedChanges> {
  const now = installed.definitions.map((each) => Definition.parse(each));
  const compared = (await earlierDefinitions(directory)).map(({ path, before }) => {
    const after = now.find(({ metadata }) => metadata.name === before.metadata.name);
    return after === undefined
      ? { left: [path], breaking: [`kind ${before.spec.names.kind} is removed`] }
      : { left: [], breaking: breakingChanges(before, after) };
  });
  return {
    breaking: compared.flatMap(({ breaking }) => breaking),
    left: compared.flatMap(({ left }) => left),
    ...(await roleChanges(directory, installed)),
  };
}

async function earlierDefinitions(directory: string) {
  const files = await readdir(join(directory, 'crd')).catch((): string[] => []);
  const definitionIn = async (file: string) => {
    const path = `crd/${file}`;
    const text = await readFile(join(directory, path), 'utf8');
    return { path, before: Definition.parse(parse(text)) };
  };
  return Promise.all(files.map(definitionIn));
}

const Role = z.object({
  kind: z.literal('ClusterRole'),
  metadata: z.object({ name: z.string(), annotations: z.record(z.string(), z.string()).default({}) }),
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      verbs: z.array(z.string()),
      resourceNames: z.array(z.string()).default([]),
    }),
  ),
});

const Left = z.record(z.string(), z.object({ owns: z.array(z.string()), finalizers: z.array(z.string()) }));

async function roleChanges(
  directory: string,
  { built, rules, leaves }: Installed,
): Promise<Pick<GeneratedChanges, 'forgotten' | 'rights'>> {
  const text = await readText(join(directory, 'install.yaml'));
  if (text === undefined) return { forgotten: [], rights: [] };
  const roles = parseAllDocuments(text).flatMap((document) => Role.safeParse(document.toJS()).data ?? []);
  const role = roles.find(({ metadata }) => metadata.name === built.name);
  const before = Left.parse(JSON.parse(role?.metadata.annotations[LEAVES_ANNOTATION] ?? '{}'));
  return {
    forgotten: forgotten(before, leaves),
    rights: addedRules(role?.rules ?? [], rules).map(ruleText),
  };
}

function forgotten(before: z.infer<typeof Left>, now: Installed['leaves']): string[] {
  return Object.entries(before).flatMap(([name, { owns, finalizers }]) => {
    const known = now[name];
    const types = owns.filter((type) => known?.owns.includes(type) !== true);
    const others = finalizers.filter((each) => known?.finalizers.includes(each) !== true);
    return [
      ...types.map(
        (type) => `controller ${name} owned ${type}, whose objects stay: list the type in its \`retired\``,
      ),
      ...others.map(
        (each) =>
          `controller ${name} had the finalizer ${each}, which keeps resources from being deleted: list it in its \`retiredFinalizers\``,
      ),
    ];
  });
}
