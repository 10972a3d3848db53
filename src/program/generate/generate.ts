/*
 * Manifests from the code. In: the controllers of a program, package.json, and the files that are there. Out: definitions, roles, chart,
 * image and alerts, in `deploy` of the project. It never grants a new right, and never breaks a stored resource, unasked.
 */

import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import type { Options } from '../../config/config.ts';
import { ConfigurationError } from '../../config/configuration-error.ts';
import { typeNameOf } from '../../api/resource-type.ts';
import type { Program } from '../program.ts';
import type { Built } from './built.ts';
import { chart, installManifest, monitoring, type Installed } from './chart.ts';
import { Definition, definitionFiles, definitionsOf } from './field-schema.ts';
import { dockerfile } from './dockerfile.ts';
import { changesFrom, type GeneratedChanges } from './earlier.ts';
import { documents, manifest, staleFiles, readText, writeFiles, type Files } from './files.ts';
import { mergeRules } from './merge-rules.ts';
import { optionsPage } from './option-tables.ts';
import { defaultControllers, watcherRules, workerRules } from './permissions.ts';
import { userRoles } from './user-roles.ts';

export interface Generating {
  readonly program: Program;
  readonly options: Options['generate'];
  /** The folder of the project, which has a package.json. */
  readonly project: string;
  readonly mainModule: string;
}

/**
 * Writes the files that follow from the program into the folder `deploy` of its project.
 *
 * @returns the program's exit code
 * @throws ConfigurationError if the project has no version
 */
export async function runGenerate(generating: Generating): Promise<number> {
  const { program, options, project } = generating;
  if (options.crds) {
    process.stdout.write(documents(definitionsOf(program)));
    return 0;
  }
  const directory = join(project, 'deploy');
  const installed = installedAs(program, await builtAs(generating));
  const files = filesOf(program, installed);
  const changes = await changesFrom(directory, installed);
  const stale = [...(await staleFiles(directory, files)), ...changes.left].map((path) => `deploy/${path}`);
  const refusals = refusalsOf(changes, options);
  const wrong = options.check ? [...stale.map(staleLine), ...refusals] : refusals;
  for (const line of wrong) process.stderr.write(`${program.name}: ${line}\n`);
  if (wrong.length > 0) return 1;
  if (!options.check) {
    await writeFiles(directory, files);
    for (const path of changes.left) await rm(join(directory, path));
  }
  process.stdout.write(stale.length > 0 ? `wrote ${stale.join(', ')}\n` : 'deploy/ is up to date\n');
  return 0;
}

function staleLine(path: string): string {
  return `${path} is stale: run npm run generate, and commit what it wrote`;
}

/** What nobody has agreed to. */
function refusalsOf(
  { breaking, forgotten, rights }: GeneratedChanges,
  options: Generating['options'],
): string[] {
  const agree = {
    breaking: 'give the kind a new field instead, or agree with --allow-breaking-changes',
    forgotten: 'or agree with --allow-breaking-changes',
    rights: 'agree with --allow-new-rights',
  };
  return [
    ...(options.allowBreakingChanges
      ? []
      : [
          ...breaking.map((each) => `breaking change: ${each}; ${agree.breaking}`),
          ...forgotten.map((each) => `forgotten: ${each}, ${agree.forgotten}`),
        ]),
    ...(options.allowNewRights ? [] : rights.map((each) => `new right: ${each}; ${agree.rights}`)),
  ];
}

const Package = z.object({ version: z.string() });

async function builtAs({ program, options, project, mainModule }: Generating): Promise<Built> {
  const file = join(project, 'package.json');
  const text = (await readText(file)) ?? '{}';
  const { data } = Package.safeParse(JSON.parse(text));
  if (data === undefined)
    throw new ConfigurationError(`${file} has no version; run this in the project's folder, and set one`);
  const { name } = program;
  return { name, version: data.version, image: options.image, main: relative(project, mainModule) };
}

function installedAs(program: Program, built: Built): Installed {
  const controllers = defaultControllers(program);
  const rules = controllers.flatMap((controller) =>
    [watcherRules(controller), workerRules(controller)].flatMap(({ namespaced, cluster }) => [
      ...namespaced,
      ...cluster,
    ]),
  );
  const definitions = definitionsOf(program);
  return {
    built,
    definitions,
    rules: mergeRules(rules),
    types: [...new Map(controllers.map(({ primary: { type } }) => [typeNameOf(type), type])).values()],
    leaves: Object.fromEntries(controllers.flatMap(({ name, leaves }) => (leaves ? [[name, leaves]] : []))),
    roles: definitions.flatMap((each) => rolesOfPeople(built, each)),
  };
}

/** Whoever may write a resource acts with the rights of the operator, so nobody has the role of editors without a choice. */
function rolesOfPeople({ name: program }: Built, definition: object): object[] {
  const { group, names, versions } = Definition.parse(definition).spec;
  const hasScale = versions.some(({ subresources }) => subresources.scale !== undefined);
  const roles = userRoles(`${program}-${names.singular}`, {
    ...{ group, plural: names.plural, hasScale, isPowerful: true },
  });
  return Object.entries(roles).map(([name, { labels, rules }]) => ({
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
    metadata: { name, labels },
    rules,
  }));
}

function filesOf(program: Program, installed: Installed): Files {
  const { built } = installed;
  return new Map([
    ...definitionFiles(program, 'crd'),
    ['install.yaml', installManifest(installed)],
    ...chart(installed),
    ['monitoring.yaml', manifest(...monitoring(built))],
    ['Dockerfile', dockerfile(built)],
    ['options.md', optionsPage(program)],
  ]);
}
