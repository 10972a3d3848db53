import { NAMESPACES, ROLE_BINDINGS, SERVICE_ACCOUNTS, type At } from '../support/cluster.ts';
import type { InsistentCluster } from './insistent-cluster.ts';
import { bindingOf, TEAM_LABEL } from './place.ts';

const RBAC = 'rbac.authorization.k8s.io';
const BOUND_WITHIN_MS = 40_000;
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const OURS = { labels: { [MANAGED_BY]: 'durable-operator' } };

/** What people do to the namespace that is selected for a RoleBinding, and to the RoleBinding. */
export class Team {
  readonly #cluster: InsistentCluster;
  readonly #team: string;
  readonly #foreign: Set<string>;

  /** @param foreign where the UIDs of what the operator must never write are noted */
  constructor(cluster: InsistentCluster, team: string, foreign: Set<string>) {
    this.#cluster = cluster;
    this.#team = team;
    this.#foreign = foreign;
  }

  /** With its ServiceAccount: kube-controller-manager forgets that of a recreated namespace now and then. */
  async create(): Promise<void> {
    const name = this.#team;
    const account = { name: 'default', namespace: name };
    await this.#cluster.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await this.#cluster.create(SERVICE_ACCOUNTS, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: account,
    });
  }

  delete(): Promise<void> {
    return this.#cluster.delete(this.#namespace);
  }

  /** Nobody takes away what is not there yet: whether it came first would be a matter of time. */
  async select(isSelected: boolean): Promise<void> {
    const deadline = performance.now() + BOUND_WITHIN_MS;
    while (!isSelected && performance.now() < deadline && !(await this.#isBoundByOperator()))
      await this.#cluster.pause();
    const labels = { [TEAM_LABEL]: isSelected ? null : 'no' };
    await this.#cluster.patch(this.#namespace, { metadata: { labels } });
  }

  deleteBinding(): Promise<void> {
    return this.#cluster.delete(this.#binding);
  }

  editBinding(): Promise<void> {
    return this.#cluster.patch(this.#binding, { metadata: OURS, subjects: [group('others')] });
  }

  async replaceBinding(): Promise<void> {
    await this.#takeBinding(OURS, bindingOf(this.#team));
  }

  async createForeignBinding(): Promise<void> {
    this.#foreign.add(await this.#takeBinding({}, 'somebody-elses'));
  }

  get #namespace(): At {
    return { type: NAMESPACES, name: this.#team };
  }

  get #binding(): At {
    return { type: ROLE_BINDINGS, namespace: this.#team, name: bindingOf(this.#team) };
  }

  /** The operator may be faster: then once more. @returns the UID of the new RoleBinding */
  async #takeBinding(metadata: object, subject: string): Promise<string> {
    const manifest = {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { ...metadata, name: bindingOf(this.#team), namespace: this.#team },
      subjects: [group(subject)],
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' },
    };
    for (;;) {
      await this.deleteBinding();
      const created = await this.#cluster.createUnlessTaken(ROLE_BINDINGS, manifest);
      if (created !== undefined) return created.metadata.uid;
    }
  }

  async #isBoundByOperator(): Promise<boolean> {
    const binding = await this.#cluster.get(this.#binding);
    return binding?.metadata.labels?.[MANAGED_BY] === 'durable-operator';
  }
}

function group(name: string): object {
  return { kind: 'Group', name, apiGroup: RBAC };
}
