import type { ControllerMessages } from '../../contract/words.ts';
import type { Observation } from './observation.ts';
import { listed } from './status.ts';
import type { JobView } from './views.ts';

/** What the commands say about a build. */
export const gitBuildWords: ControllerMessages<Observation> = {
  desired: ({ observation: { build } }) => {
    if (build === 'gone') return 'nothing: it is gone';
    if (build.deleting) return 'the binary removed from every node, and then the finalizer';
    if (!build.spec.ok) return 'unclear: the spec is invalid';
    const { binaryName, jobName } = build.spec.spec;
    return `${binaryName}, built by Job ${jobName}`;
  },
  current: ({ observation }) => {
    const { build, jobs } = observation;
    if (build === 'gone') return 'nothing';
    const { phase, artifacts = [], message = '' } = build.status;
    return [
      ...(phase === undefined ? [] : [`phase ${phase}`]),
      // With what its Pod wrote, which is in no history.
      ...(phase === 'Failed' && message !== '' ? [message] : []),
      artifacts.length === 0 ? 'no binary on any node' : listed(artifacts),
      ...jobs.map(jobText),
    ].join('; ');
  },
  children: ({ observation: { pods } }) =>
    pods.flatMap(({ name, trouble }) => (trouble ? [`Pod ${name} ${trouble.text}`] : [])),
};

function jobText({ name, state, deleting, node }: JobView): string {
  const running = node === '' ? 'is running' : `is to run on ${node}`;
  return `Job ${name} ${deleting ? 'is being deleted' : state === 'active' ? running : `has ${state}`}`;
}
