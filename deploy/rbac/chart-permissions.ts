import type { Controller } from '../../src/contract/controller.ts';
import { clusterScopedRules, watcherRules, workerRules } from './operator-roles.ts';

/**
 * What the chart makes its roles of: it learns which controllers run only when it is rendered. By controller,
 * the rules of each part and scope.
 */
export function chartPermissions(controllers: readonly Controller[]): object {
  return Object.fromEntries(
    controllers.map((controller) => {
      const only = [controller];
      const rules = {
        cluster: { watcher: watcherRules(only, 'cluster'), worker: workerRules(only, 'cluster') },
        namespaces: { watcher: watcherRules(only, 'namespaces'), worker: workerRules(only, 'namespaces') },
        beyondNamespaces: clusterScopedRules(only),
      };
      return [controller.name, rules];
    }),
  );
}
