import type { Logger } from '../src/contract/logger.ts';
import type { ControllerOptions } from '../src/controllers/index.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { buildActivities } from './builds.ts';
import type { Recorder } from './events.ts';
import { podSetActivities } from './pod-sets.ts';
import { podLabelActivities } from './pods.ts';
import { roleBindingActivities } from './role-bindings.ts';

export interface ActivityDependencies {
  readonly client: KubernetesClient;
  readonly options: ControllerOptions;
  readonly recorder: Recorder;
  readonly log: Logger;
}

/** All activities, by the names that workflows call them by. */
export function activitiesFor({ client, options, recorder, log }: ActivityDependencies) {
  return {
    ...podLabelActivities({ client, recorder, log }),
    ...podSetActivities({ client, recorder, log }),
    ...roleBindingActivities({ client, recorder, options: options.roleBinding, log }),
    ...buildActivities({ client, recorder, options: options.build, log }),
  };
}
