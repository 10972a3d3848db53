import type { Options } from '../config/config.ts';
import type { Ignored } from '../api/messages.ts';
import { VERSION } from '../config/version.ts';
import type { AskedOperator } from './session.ts';

/*
 * Sentences about the running operator.
 */

export const UPDATE_PLUGIN = 'update the plugin';

/** So many of the other operators are named. */
const OTHERS_MAX = 3;

/** Why the options of the operator are unknown. */
export function whyNoOperator(operator: Omit<AskedOperator, 'settings'>): string {
  const { taskQueue, unreadable, otherTaskQueues, otherCluster } = operator;
  if (unreadable !== undefined) {
    return `the operator with task queue "${taskQueue}" is version ${unreadable}; this plugin, version ${VERSION}, cannot read its settings; ${UPDATE_PLUGIN}`;
  }
  const more = otherTaskQueues.length - OTHERS_MAX;
  const named = firstOf(otherTaskQueues).map((name) => `"${name}"`);
  const others =
    named.length === 0
      ? ''
      : `; there are operators with ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  if (otherCluster !== undefined) {
    return `the operator with task queue "${taskQueue}" is for another cluster, ${otherCluster}${others}`;
  }
  return others === ''
    ? `no operator with task queue "${taskQueue}" is known to Temporal`
    : `no operator has task queue "${taskQueue}"${others}`;
}

/** @param because why the options are unknown */
export function assumingDefaults(because: string): string {
  return `assuming default options, since those of the operator could not be read: ${because}`;
}

export function firstOf(otherTaskQueues: readonly string[]): readonly string[] {
  return otherTaskQueues.slice(0, OTHERS_MAX);
}

export type Reconciliation = Pick<Options['reconciliation'], 'controllers' | 'namespaces'>;

/**
 * Why the operator's options leave a resource out; undefined: they do not.
 *
 * @param namespace of the resource; of a Namespace, its own name; undefined: it has none
 */
export function whyLeftOut(
  { controllers, namespaces }: Reconciliation,
  { controller, namespace }: { readonly controller: string; readonly namespace: string | undefined },
): Ignored | undefined {
  const running: readonly string[] = controllers;
  if (!running.includes(controller)) {
    return {
      message: `the operator runs without the controller ${controller}; it runs ${running.join(', ')} (--controllers)`,
      advice: [`add ${controller} to --controllers, and restart the operator`],
    };
  }
  if (namespaces.length === 0 || namespace === undefined || namespaces.includes(namespace)) return undefined;
  return {
    message: `the operator watches only the namespaces ${namespaces.join(', ')} (--namespaces), and not ${namespace}`,
    advice: [`add ${namespace} to --namespaces, and restart the operator`],
  };
}
