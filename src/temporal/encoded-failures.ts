import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Puts message and stack of a failure into a payload, so that they are encrypted as all payloads are. Loaded by path:
 * into the workflow bundle, and by the SDK into worker and client.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
