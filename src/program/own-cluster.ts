import type { Config } from '../config/config.ts';
import type { ClusterIdentity } from '../runs/cluster.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { clusterUid } from '../kubernetes/cluster-uid.ts';
import { persistently, type Persistence } from '../temporal/persistently.ts';

/** In 3.5 s. An API server that has just started refuses everything until it has read its roles. */
const REFUSALS_MAX = 4;

export interface OwnClusterRequest extends Persistence {
  readonly config: Pick<Config, 'cluster' | 'reconciliation'>;
  readonly client: KubernetesClient;
}

/** Which cluster the operator is for; waits for an API server that cannot be reached. @throws AbortError */
export async function ownCluster(request: OwnClusterRequest): Promise<ClusterIdentity> {
  const { name } = request.config.cluster;
  const isForSome = request.config.reconciliation.namespaces.length > 0;
  // Where it has a name, it asks for nothing that a Role in its namespaces does not allow.
  const uid = name !== undefined && isForSome ? undefined : await uidOf(request);
  if (name === undefined && uid === undefined) {
    request.log.warn(
      {},
      'the operator does not know its cluster, because it may not read the Namespace kube-system; if other clusters use the same Temporal namespace, set --cluster-name',
    );
  }
  return { ...(name !== undefined && { name }), ...(uid !== undefined && { uid }) };
}

function uidOf({ client, log, signal, onWait }: OwnClusterRequest): Promise<string | undefined> {
  let refusals = 0;
  return persistently(
    { log, signal, onWait },
    async () => {
      const uid = await clusterUid(client);
      refusals += 1;
      if (uid === undefined && refusals < REFUSALS_MAX) throw new Error('it may not be read');
      return uid;
    },
    (message) => `the API server cannot be asked for the Namespace kube-system (${message}); retrying`,
  );
}
