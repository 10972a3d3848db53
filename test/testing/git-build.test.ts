import { expect, it, jest } from '@jest/globals';
import { explore } from '../../testing/index.ts';
import { GIT_BUILD, gitBuildScenario } from '../support/git-build-scenario.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('one binary is built, and none stays on a node once the build is gone', async () => {
  const { unexplored } = await explore(GIT_BUILD, gitBuildScenario, { states: 400_000 });
  expect(unexplored).toEqual([]);
});

type GitBuild = Required<typeof GIT_BUILD>;
const { decide, status, steps, lookups } = GIT_BUILD as GitBuild;
const deciding = (broken: GitBuild['decide']) => ({ ...GIT_BUILD, decide: broken });
const isStopping = ({ resource, owned }: Parameters<GitBuild['decide']>[0]) =>
  resource.isBeingDeleted && owned.some(({ kind, purpose }) => kind === 'job' && purpose === 'build');
/** What it takes to find each of these. */
const scenario = { ...gitBuildScenario, externalChanges: {} };
const stepping = (broken: Partial<GitBuild['steps']>) => ({ ...GIT_BUILD, steps: { ...steps, ...broken } });

it.each<[what: string, broken: typeof GIT_BUILD, found: string]>([
  [
    'lets go of its finalizer once the cleanup has begun',
    deciding((context, next) =>
      context.resource.isBeingDeleted && context.owned.some(({ purpose }) => purpose === 'cleanup')
        ? next.removeFinalizer('a Job removes the binary')
        : decide(context, next),
    ),
    'the finalizer goes, and build-helloworld-delete runs',
  ],
  [
    'does not record where its Job ran before that is deleted',
    {
      ...deciding((context, next) =>
        decide(context, isStopping(context) ? { ...next, record: (_, then) => then } : next),
      ),
      status(context) {
        const { artifacts = [] } = context.resource.view.status;
        return { ...status(context), ...(isStopping(context) && { artifacts }) };
      },
    },
    'the finalizer goes, and x stays',
  ],
  [
    'deletes a Job whatever it has done since it was read',
    stepping({
      deleteJob: {
        ...steps.deleteJob,
        run({ kube, ...context }, job) {
          const unconditional: typeof kube = {
            ...kube,
            delete: (at, { uid, propagation = 'Foreground' }) => kube.delete(at, { uid, propagation }),
          };
          return steps.deleteJob.run({ ...context, kube: unconditional }, job);
        },
      },
    }),
    'the finalizer goes, and x stays',
  ],
  [
    'does not look where it ran before it records its end',
    {
      ...GIT_BUILD,
      lookups: { ...lookups, running: { read: () => Promise.resolve({ jobs: [], pods: [] }) } },
    },
    'the status does not know x',
  ],
  [
    'gives its Job another name in each attempt',
    stepping({
      createJob: {
        ...steps.createJob,
        run({ kube, ...context }, spec) {
          const renaming: typeof kube = {
            ...kube,
            create: (type, { metadata, ...job }) =>
              kube.create(type, { ...job, metadata: { ...metadata, name: `job-${context.idempotencyKey}` } }),
          };
          return steps.createJob.run({ ...context, kube: renaming }, spec);
        },
      },
    }),
    'createJob and deleteJob undo each other',
  ],
])('a build that %s is found out', async (_, broken, found) => {
  await expect(explore(broken, scenario, { states: 400_000 })).rejects.toThrow(found);
});
