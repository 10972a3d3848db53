import { truncate, type KubernetesObject } from '../../api/index.ts';

/** What is known of a node on which a cleanup is to run. */
export type NodeState = 'there' | 'gone' | NotReady;

export interface NotReady {
  /** `Ready=Unknown since 2026-11-21T11:00:00Z: Kubelet stopped posting node status` */
  readonly notReady: string;
}

/** Source: core/v1, NodeCondition. */
interface NodeStatus {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastTransitionTime?: string;
    readonly message?: string;
  }[];
}

const MESSAGE_MAX = 200;

/** A node that has reported nothing yet is there. */
export function nodeState(node: KubernetesObject | undefined): NodeState {
  if (node === undefined) return 'gone';
  const { conditions = [] } = (node['status'] ?? {}) as NodeStatus;
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return 'there';
  const { status, lastTransitionTime: since = 'an unknown time', message = '' } = ready;
  return { notReady: `Ready=${status} since ${since}: ${truncate(message.replace(/\.$/, ''), MESSAGE_MAX)}` };
}
