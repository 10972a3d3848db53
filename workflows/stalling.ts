import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { patched, upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES, STALLED } from '../src/contract/search-attributes.ts';

const STATE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);

/**
 * Lets the run be found among the open ones for as long as it waits for a change of its resource. It costs events,
 * which is why no other state is told like that. Runs of 0.1.0 that stalled before this was there go on without.
 */
export async function markedAsStalled(waiting: () => Promise<void>): Promise<void> {
  if (!patched('run-state')) return waiting();
  upsertSearchAttributes([{ key: STATE, value: STALLED }]);
  await waiting();
  upsertSearchAttributes([{ key: STATE, value: null }]);
}
