import { allow, defineController, JOBS, type Advice } from 'durable-operator';
import { jobName, progressOf, startJob, STAGES, stateOfJob, type Stage } from './jobs.ts';
import { Migration } from './kind.ts';

/** The end of a Job is noticed at once; at the latest after that, in milliseconds. */
const LOOK_EVERY = '1m';

export const migration = defineController({
  name: 'migration',
  for: Migration,
  owns: [{ ...JOBS, view: stateOfJob }],
  permissions: [allow(JOBS, ['get', 'create'])],
  // Owns does not show whether a name is taken.
  observe: ({ resource, kube }) => progressOf(resource, kube),
  steps: {
    start: {
      summary: 'start a stage',
      external: false,
      run: async ({ resource, kube }, { stage }: { readonly stage: Stage }) => {
        await startJob(resource, stage, kube);
        return `started ${stage}`;
      },
    },
  },

  decide({ resource: { metadata, isBeingDeleted }, observed: progress }, next) {
    if (isBeingDeleted) return next.converged('it is being deleted');
    const show = (what: string, stage: Stage): Advice => ({
      run: `kubectl ${what} -n ${metadata.namespace} job/${jobName(metadata.name, stage)}`,
      to: 'show why',
    });
    const stalled = (reason: string, message: string, stage: Stage) =>
      next.stalled({ reason: reason, message: message, advice: [show('logs', stage)] });

    const failed = STAGES.slice(0, 3).find((stage) => progress[stage] === 'failed');
    if (failed === 'backup')
      return stalled('BackupFailed', 'the backup failed, and nothing was migrated', failed);
    const stages: readonly Stage[] = failed === undefined ? ['backup', 'migrate', 'verify'] : ['rollback'];
    const stage = stages.find((each) => progress[each] !== 'succeeded');
    if (stage === undefined)
      return failed === undefined
        ? next.converged('migrated and verified')
        : stalled('RolledBack', `${failed} failed, and the backup is restored`, failed);
    switch (progress[stage]) {
      case 'absent':
        return next.do.start(failed === undefined ? `${stage} is next` : `${failed} failed`, { stage });
      case 'failed':
        return stalled('RollbackFailed', `${failed} failed, and so did the rollback`, stage);
      case 'taken':
        return next.stalled({
          reason: 'JobNameTaken',
          message: `Job ${jobName(metadata.name, stage)} belongs to somebody else`,
          advice: [show('describe', stage)],
        });
      case 'running':
      case 'succeeded':
        return next.wait(`${stage} to end`, { recheckAfter: LOOK_EVERY });
    }
  },

  status: ({ observed }) => ({ stage: STAGES.findLast((stage) => observed[stage] !== 'absent') }),
});
