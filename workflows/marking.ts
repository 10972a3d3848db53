import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES, type RunState } from '../src/runs/search-attributes.ts';

const STATE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);

/**
 * Lets the run be found among the open ones for as long as it waits for a person, or in a backoff of its own. It costs events, which is
 * why no other state is shown like that.
 */
export async function markedAs(state: RunState, waiting: () => Promise<void>): Promise<void> {
  upsertSearchAttributes([{ key: STATE, value: state }]);
  await waiting();
  upsertSearchAttributes([{ key: STATE, value: null }]);
}
