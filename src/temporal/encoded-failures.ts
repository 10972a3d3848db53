import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Puts message and stack of a failure into a payload, so that they are encrypted. The workflow bundle, the worker and the client
 * load this file by its path.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
