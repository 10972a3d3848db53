import type { WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { ResourceRef } from '../contract/resource.ts';
import { SEARCH_ATTRIBUTES, STALLED } from '../contract/search-attributes.ts';

const { controller, namespace, name, uid, state } = SEARCH_ATTRIBUTES;

/** `INDEXED_VALUE_TYPE_KEYWORD`: temporal/api/enums/v1/common.proto; the package's own enum cannot be imported by name. */
const KEYWORD = 2;

const KEYS = {
  controller: defineSearchAttributeKey(controller, SearchAttributeType.KEYWORD),
  namespace: defineSearchAttributeKey(namespace, SearchAttributeType.KEYWORD),
  name: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
  uid: defineSearchAttributeKey(uid, SearchAttributeType.KEYWORD),
};

const STATE = defineSearchAttributeKey(state, SearchAttributeType.KEYWORD);

/** Whether the run says of itself that it waits for a change of its resource. */
export function isStalled({ typedSearchAttributes }: WorkflowExecutionInfo): boolean {
  return typedSearchAttributes.get(STATE) === STALLED;
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
