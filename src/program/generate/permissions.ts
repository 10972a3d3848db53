import { defaultOptions } from '../../config/config.ts';
import { withOptionsOf } from '../../config/controller-options.ts';
import { allow, type PolicyRule } from '../../api/policy-rule.ts';
import { type Controller } from '../../engine/controller.ts';
import { type ResourceType } from '../../api/resource-type.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../api/kinds.ts';
import { controllersOf, type Program } from '../program.ts';
import { mergeRules, ruleText } from './merge-rules.ts';

/**
 * All controllers with default options.
 *
 * @param values of other options, by the names of their controllers
 */
export function defaultControllers(
  program: Program,
  values: Readonly<Record<string, object>> = {},
): readonly Controller[] {
  return controllersOf(program, withOptionsOf(defaultOptions(program), values));
}

/** The parts of a controller that its permissions follow from. */
export type PermissionSource = Pick<Controller, 'primary' | 'children' | 'references' | 'permissions'>;

/** The permissions of one process, by where they can be granted. */
export interface ProcessRules {
  /** By a Role in each namespace, or by a ClusterRole for all namespaces. */
  readonly namespaced: readonly PolicyRule[];
  /** Only by a ClusterRole. */
  readonly cluster: readonly PolicyRule[];
}

/** All controllers watch Namespaces, which can be paused or deleted, and quotas, which can be raised. */
const WATCHED_BY_ALL: readonly ResourceType[] = [NAMESPACES, RESOURCE_QUOTAS];

/** A Role can grant everything else that activities need: a Namespace counts as lying in itself. */
const CLUSTER_SCOPED: readonly string[] = ['nodes'];

const READING: readonly string[] = ['get', 'list', 'watch'];

/** What the watcher needs for a controller. */
export function watcherRules({ primary, children, references = [] }: PermissionSource): ProcessRules {
  const watched = [primary, ...children, ...references];
  const types = [...watched.map(({ type }) => type), ...WATCHED_BY_ALL];
  const watching = (those: readonly ResourceType[]) => those.map((type) => allow(type, ['list', 'watch']));
  return {
    // A Role lets its own Namespace be read by name, but not watched. The watcher also reads the UID of
    // kube-system, which identifies the cluster.
    namespaced: mergeRules([
      ...watching(types.filter(({ namespaced }) => namespaced)),
      allow(NAMESPACES, ['get']),
    ]),
    cluster: mergeRules(watching(types.filter(({ namespaced }) => !namespaced))),
  };
}

/** What a worker needs for a controller. It also reads whether a Namespace is paused. */
export function workerRules({ permissions }: PermissionSource): ProcessRules {
  const rules = [...permissions, allow(NAMESPACES, ['get'])];
  return {
    namespaced: mergeRules(rules.filter((rule) => !isClusterScoped(rule))),
    cluster: mergeRules(rules.filter(isClusterScoped)),
  };
}

function isClusterScoped({ resources }: PolicyRule): boolean {
  return resources.every((resource) => CLUSTER_SCOPED.includes(resource));
}

/** What a controller may change in the cluster: `create, delete jobs; patch xxxes`. Recording Events is left out. */
export function changesBy({ permissions }: PermissionSource): string {
  const changing = permissions
    .filter(({ resources }) => !resources.includes('events'))
    .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => !READING.includes(verb)) }));
  return mergeRules(changing).map(ruleText).join('; ');
}
