import type { Logger } from '../src/contract/logger.ts';
import type { ControllerOptions } from '../src/controllers/index.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { eventRecorder } from './events.ts';
import { podLabelActivities } from './pods.ts';
import { roleBindingActivities } from './role-bindings.ts';

export interface ActivityDependencies {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
  readonly log: Logger;
}

/** All activities, by the names that workflows call them by. */
export function activitiesFor({ client, options, log }: ActivityDependencies) {
  const recorder = eventRecorder(client);
  return {
    ...podLabelActivities({ client, recorder, log }),
    ...roleBindingActivities({ client, recorder, options: options.roleBinding, log }),
  };
}
