import type { KubernetesObject } from '../../src/api/object.ts';
import type { Manifest } from './cluster.ts';

const API_GROUP = 'rbac.authorization.k8s.io';
export const OURS = { 'app.kubernetes.io/managed-by': 'durable-operator' };

export interface RoleBindingObject extends KubernetesObject {
  readonly roleRef: unknown;
  readonly subjects?: unknown;
}

/** The binding of a namespace's team exactly as the operator makes it, unless a builder says otherwise. */
export function aRoleBinding(namespace: string): RoleBindingBuilder {
  return new RoleBindingBuilder(namespace, {
    labels: OURS,
    role: 'edit',
    name: `ad-kubernetes-${namespace}`,
    group: `ad-kubernetes-${namespace}`,
  });
}

interface Fields {
  readonly labels: Readonly<Record<string, string>>;
  readonly role: string;
  readonly name: string;
  readonly group: string;
}

class RoleBindingBuilder {
  readonly #namespace: string;
  readonly #fields: Fields;

  constructor(namespace: string, fields: Fields) {
    this.#namespace = namespace;
    this.#fields = fields;
  }

  /** Without our label. */
  foreign(): RoleBindingBuilder {
    return new RoleBindingBuilder(this.#namespace, { ...this.#fields, labels: {} });
  }

  to(role: string): RoleBindingBuilder {
    return new RoleBindingBuilder(this.#namespace, { ...this.#fields, role });
  }

  /** With another prefix than the default. */
  prefixed(prefix: string): RoleBindingBuilder {
    const name = prefix + this.#namespace;
    return new RoleBindingBuilder(this.#namespace, { ...this.#fields, name, group: name });
  }

  of(group: string): RoleBindingBuilder {
    return new RoleBindingBuilder(this.#namespace, { ...this.#fields, group });
  }

  get manifest(): Manifest {
    const { labels, role, name, group } = this.#fields;
    return {
      apiVersion: `${API_GROUP}/v1`,
      kind: 'RoleBinding',
      metadata: { name, namespace: this.#namespace, labels },
      subjects: [{ kind: 'Group', name: group, apiGroup: API_GROUP }],
      roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: role },
    };
  }
}
