import type { Options } from '../config/config.ts';
import { VERSION } from '../version.ts';
import type { TemporalAccess } from './connection/temporal.ts';
import { leftOutBy } from './controllers.ts';
import type { ResourcePlace } from './resource-name.ts';

/*
 * What the commands say of the running operator.
 */

export const UPDATE_PLUGIN = 'update the plugin';

/** Of what may be many. */
const OTHERS_MAX = 3;

/** Why nothing is known of its options. */
export function whyNoOperator({
  taskQueue,
  unreadable,
  otherTaskQueues,
  otherCluster,
}: Pick<TemporalAccess, 'taskQueue' | 'unreadable' | 'otherTaskQueues' | 'otherCluster'>): string {
  if (unreadable !== undefined) {
    return `the operator with task queue "${taskQueue}" is version ${unreadable}; this plugin, version ${VERSION}, cannot read its settings; ${UPDATE_PLUGIN}`;
  }
  const others = otherTaskQueues.length === 0 ? '' : `; there are operators with ${someOf(otherTaskQueues)}`;
  if (otherCluster !== undefined) {
    return `the operator with task queue "${taskQueue}" is for another cluster, ${otherCluster}${others}`;
  }
  return others === ''
    ? `no operator with task queue "${taskQueue}" is known to Temporal`
    : `no operator has task queue "${taskQueue}"${others}`;
}

function someOf(names: readonly string[]): string {
  const more = names.length > OTHERS_MAX ? ` and ${names.length - OTHERS_MAX} more` : '';
  return (
    names
      .slice(0, OTHERS_MAX)
      .map((name) => `"${name}"`)
      .join(', ') + more
  );
}

/** @param because why nothing is known of the operator's options */
export function assumingDefaults(because: string): string {
  return `assuming default options, since those of the operator could not be read: ${because}`;
}

/** Those that are worth a command each. */
export function firstOf(otherTaskQueues: readonly string[]): readonly string[] {
  return otherTaskQueues.slice(0, OTHERS_MAX);
}

export interface LeftOut {
  readonly because: string;
  readonly advice: string;
}

/** What the operator's options leave out; undefined: not this resource. */
export function whyLeftOut(
  reconciliation: Options['reconciliation'],
  place: Pick<ResourcePlace, 'controller' | 'namespace'>,
): LeftOut | undefined {
  const { controllers, namespaces } = reconciliation;
  switch (leftOutBy(reconciliation, place)) {
    case 'controller':
      return {
        because: `the operator runs without the controller ${place.controller}; it runs ${controllers.join(', ')} (--controllers)`,
        advice: `add ${place.controller} to --controllers, and restart the operator`,
      };
    case 'namespace':
      return {
        because: `the operator watches only the namespaces ${namespaces.join(', ')} (--namespaces), and not ${place.namespace}`,
        advice: `add ${place.namespace} to --namespaces, and restart the operator`,
      };
    case undefined:
      return undefined;
  }
}
