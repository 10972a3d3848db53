import { serversWords } from '../output.ts';
import type { Explanation } from './explanation.ts';
import { orHowToDecrypt } from './facts.ts';
import type { Open } from './findings.ts';
import { openRun } from './open-run-parts.ts';

/** Of an open run that workers take up, and cannot go on with: its steps do not come to it. */
export function failingTask(open: Open): Explanation {
  const { run, temporal } = open;
  const message = temporal.timeline?.taskFailure?.message ?? '';
  const because = message === '' ? 'its history does not say' : serversWords(orHowToDecrypt(message));
  return openRun(open, {
    state: 'Retrying',
    headline: 'is retrying',
    facts: [
      {
        label: 'step',
        text: `workflow task, attempt ${run.workflowTaskAttempt ?? 1}: it fails before any step`,
      },
      { label: 'because', text: because },
    ],
    advice: [
      'bring back what the run began with: the version of the worker, or the payload key that is named above',
      'or terminate the run: a new one, which reads everything from the cluster, starts within minutes',
      'see docs/operating.md, "A run makes no progress", and docs/encryption.md',
      { run: `temporal workflow terminate --workflow-id ${run.workflowId}`, to: 'terminate the run' },
    ],
  });
}
