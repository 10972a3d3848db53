import type { KubernetesObject } from '../../contract/object.ts';
import { truncate } from '../../contract/text.ts';
import { fieldsOf, listOf, textOf } from '../fields.ts';

/** What is known of a node on which a cleanup is to run. */
export type NodeState = 'there' | 'gone' | NotReady;

export interface NotReady {
  /** `Ready=Unknown since 2026-11-21T11:00:00Z: Kubelet stopped posting node status` */
  readonly notReady: string;
}

const MESSAGE_MAX = 200;

/** A node that has reported nothing yet is there. */
export function nodeState(node: KubernetesObject | undefined): NodeState {
  if (node === undefined) return 'gone';
  const { status } = node as KubernetesObject & { readonly status?: unknown };
  const ready = listOf(fieldsOf(status)['conditions']).find(({ type }) => type === 'Ready');
  const value = textOf(ready?.['status']) ?? 'True';
  if (value === 'True') return 'there';
  const since = textOf(ready?.['lastTransitionTime']) ?? 'an unknown time';
  const message = truncate((textOf(ready?.['message']) ?? '').replace(/\.$/, ''), MESSAGE_MAX);
  return { notReady: `Ready=${value} since ${since}: ${message}` };
}
