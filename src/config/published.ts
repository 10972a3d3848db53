import type { ClusterIdentity } from '../runs/cluster.ts';
import { optionsFrom, textsOf, workerVersionOf, type Options } from './config.ts';
import { optionTable, type OptionTable } from './option-table.ts';
import type { ProgramNames } from './options.ts';

/** What a running operator says of itself to those who ask about it. Nothing of it is secret. */
export interface PublishedSettings {
  /** Of the program. */
  readonly version: string;
  /** As the operator has them; those that it does not publish have their defaults. */
  readonly options: Options;
  /** Whoever holds it watches the cluster. Undefined: without leader election. */
  readonly lease?: PublishedLease | undefined;
}

export interface PublishedLease {
  readonly namespace: string;
  readonly name: string;
}

interface About {
  readonly version: string;
  readonly clusterUid: string | undefined;
  readonly lease?: PublishedLease | undefined;
}

/** By the names of the options, as a person writes their values; `version`; `cluster-uid`; and `lease`. */
export type PublishedTexts = Readonly<Record<string, string>>;

function publishedNames({ rows }: OptionTable): readonly string[] {
  return rows.filter(({ published }) => published === true).map(({ name }) => name);
}

export function textsToPublish(
  program: ProgramNames,
  options: Options,
  { version, clusterUid, lease }: About,
): PublishedTexts {
  const { deploymentName, buildId } = workerVersionOf(options) ?? {};
  const table = optionTable(program);
  const published = publishedNames(table);
  const given = textsOf(table, options).filter(([name]) => published.includes(name));
  return {
    version,
    ...(clusterUid !== undefined && { 'cluster-uid': clusterUid }),
    ...(lease && { lease: `${lease.namespace}/${lease.name}` }),
    ...Object.fromEntries(given),
    // Unset, it is the version of the operator's program, not of the one that asks.
    ...(deploymentName !== undefined && buildId !== undefined && { 'worker-build-id': buildId }),
  };
}

/** Undefined where a newer operator has written what this program cannot read. */
export function settingsFrom(program: ProgramNames, texts: PublishedTexts): PublishedSettings | undefined {
  const table = optionTable(program);
  const given = publishedNames(table).flatMap((name) => {
    const raw = texts[name];
    return raw === undefined ? [] : [[name, { raw, from: 'the running operator' }] as const];
  });
  const options = optionsFrom(table, new Map(given));
  return options && { version: texts['version'] ?? '', options, lease: leaseIn(texts) };
}

function leaseIn({ lease }: PublishedTexts): PublishedLease | undefined {
  const [namespace, name] = lease?.split('/') ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** Of the operator; also where the rest cannot be read. */
export function clusterIn({ 'cluster-name': name, 'cluster-uid': uid }: PublishedTexts): ClusterIdentity {
  return { ...(name !== undefined && { name }), ...(uid !== undefined && { uid }) };
}
