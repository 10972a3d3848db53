import type { WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { labelOfCluster, type Cluster } from '../contract/cluster.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { SEARCH_ATTRIBUTES, STALLED } from '../contract/search-attributes.ts';

const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);

const KEYS = {
  controller: keyword(SEARCH_ATTRIBUTES.controller),
  namespace: keyword(SEARCH_ATTRIBUTES.namespace),
  name: keyword(SEARCH_ATTRIBUTES.name),
  uid: keyword(SEARCH_ATTRIBUTES.uid),
};

const CLUSTER = keyword(SEARCH_ATTRIBUTES.cluster);
const STATE = keyword(SEARCH_ATTRIBUTES.state);

/** Whether the run says of itself that it waits for a change of its resource. */
export function isStalled(info: WorkflowExecutionInfo): boolean {
  return stateOfRun(info) === STALLED;
}

/** What the run says of itself, such as {@link STALLED}; undefined: nothing. */
export function stateOfRun({
  typedSearchAttributes,
}: Pick<WorkflowExecutionInfo, 'typedSearchAttributes'>): string | undefined {
  return typedSearchAttributes.get(STATE);
}

/** The resource of a run; undefined where the run is not one of ours. */
export function refOf({
  workflowId,
  typedSearchAttributes,
}: Pick<WorkflowExecutionInfo, 'workflowId' | 'typedSearchAttributes'>): ResourceRef | undefined {
  const valueOf = (key: ReturnType<typeof keyword>) => typedSearchAttributes.get(key) ?? '';
  const ref = {
    controller: valueOf(KEYS.controller),
    namespace: valueOf(KEYS.namespace),
    name: valueOf(KEYS.name),
    uid: valueOf(KEYS.uid),
  };
  return workflowIdFor(ref) === workflowId ? ref : undefined;
}

/** @param cluster of the resource; default: nobody knows which it is */
export function searchAttributesOf(ref: ResourceRef, cluster: Cluster = {}): TypedSearchAttributes {
  const label = labelOfCluster(cluster);
  return new TypedSearchAttributes([
    { key: KEYS.controller, value: ref.controller },
    { key: KEYS.namespace, value: ref.namespace },
    { key: KEYS.name, value: ref.name },
    { key: KEYS.uid, value: ref.uid },
    ...(label === undefined ? [] : [{ key: CLUSTER, value: label }]),
  ]);
}
