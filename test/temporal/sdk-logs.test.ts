import { describe, expect, it } from '@jest/globals';
import { sdkLogger } from '../../src/temporal/sdk-logs.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

describe('the log of the SDK', () => {
  it('keeps its level and its fields, but that what it finds worth telling is for debugging', () => {
    const log = aRecordingLogger();
    const sdk = sdkLogger(log);
    sdk.info('started');
    sdk.warn('slow', { seconds: 3n });
    sdk.log('ERROR', 'failed', { runId: 'r' });
    sdk.log('TRACE', 'polling');
    expect(log.lines).toEqual([
      { level: 'debug', message: 'started', fields: {} },
      { level: 'warn', message: 'slow', fields: { seconds: '3' } },
      { level: 'error', message: 'failed', fields: { runId: 'r' } },
      { level: 'debug', message: 'polling', fields: {} },
    ]);
  });

  it('says what an error is', () => {
    const log = aRecordingLogger();
    const error = new Error('invalid API key');
    sdkLogger(log).error('Worker failed', { error });
    expect(log.lines).toEqual([{ level: 'error', message: 'Worker failed', fields: { err: error } }]);
  });

  it('tells once a minute that Temporal does not answer, whichever call it is, and all else as often as it comes', () => {
    const log = aRecordingLogger();
    let nowMs = 0;
    const sdk = sdkLogger(log, () => nowMs);
    sdk.error('gRPC call poll_workflow_task_queue retried 16 times');
    sdk.error('gRPC call poll_activity_task_queue retried 16 times');
    sdk.error('failed');
    nowMs = 60_000;
    sdk.error('gRPC call poll_workflow_task_queue retried 20 times');
    expect(log.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'error: gRPC call poll_workflow_task_queue retried 16 times',
      'debug: gRPC call poll_activity_task_queue retried 16 times',
      'error: failed',
      'error: gRPC call poll_workflow_task_queue retried 20 times',
    ]);
  });
});
