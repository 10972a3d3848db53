import type { WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { SEARCH_ATTRIBUTES, STALLED } from '../contract/search-attributes.ts';

/** `INDEXED_VALUE_TYPE_KEYWORD`: temporal/api/enums/v1/common.proto; the package's own enum cannot be imported by name. */
const KEYWORD = 2;

const KEYS = {
  controller: defineSearchAttributeKey(SEARCH_ATTRIBUTES.controller, SearchAttributeType.KEYWORD),
  namespace: defineSearchAttributeKey(SEARCH_ATTRIBUTES.namespace, SearchAttributeType.KEYWORD),
  name: defineSearchAttributeKey(SEARCH_ATTRIBUTES.name, SearchAttributeType.KEYWORD),
  uid: defineSearchAttributeKey(SEARCH_ATTRIBUTES.uid, SearchAttributeType.KEYWORD),
};

const STATE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);

/** Whether the run says of itself that it waits for a change of its resource. */
export function isStalled({ typedSearchAttributes }: WorkflowExecutionInfo): boolean {
  return typedSearchAttributes.get(STATE) === STALLED;
}

/** The resource of a run; undefined where the run is not one of ours. */
export function refOf({ workflowId, typedSearchAttributes }: WorkflowExecutionInfo): ResourceRef | undefined {
  const valueOf = (key: (typeof KEYS)[keyof typeof KEYS]) => typedSearchAttributes.get(key) ?? '';
  const ref = {
    controller: valueOf(KEYS.controller),
    namespace: valueOf(KEYS.namespace),
    name: valueOf(KEYS.name),
    uid: valueOf(KEYS.uid),
  };
  return workflowIdFor(ref) === workflowId ? ref : undefined;
}

export function searchAttributesOf(ref: ResourceRef): TypedSearchAttributes {
  return new TypedSearchAttributes([
    { key: KEYS.controller, value: ref.controller },
    { key: KEYS.namespace, value: ref.namespace },
    { key: KEYS.name, value: ref.name },
    { key: KEYS.uid, value: ref.uid },
  ]);
}

/** Registers what is missing; several processes may do so at once. @throws ServiceError */
export async function registerSearchAttributes(
  connection: NativeConnection,
  temporalNamespace: string,
): Promise<void> {
  const { operatorService } = connection;
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace: temporalNamespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((attribute) => !(attribute in customAttributes));
  if (missing.length === 0) return;
  await operatorService.addSearchAttributes({
    namespace: temporalNamespace,
    searchAttributes: Object.fromEntries(missing.map((attribute) => [attribute, KEYWORD])),
  });
}
