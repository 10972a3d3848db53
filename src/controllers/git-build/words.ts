import type { KubernetesObject } from '../../contract/object.ts';
import type { Advice, Trouble, Words } from '../../contract/words.ts';
import { fieldsOf, listOf, textOf } from '../fields.ts';
import { troubleOf } from './job-rules.ts';
import type { Observation } from './observation.ts';
import { SKIP_CLEANUP_ANNOTATION } from './resource.ts';
import { listed } from './status.ts';
import type { JobView } from './views.ts';

/** What the commands say about a build. */
export const gitBuildWords: Words<Observation> = {
  wanted: ({ observation: { build } }) => {
    if (build === 'gone') return 'nothing: it is gone';
    if (build.deleting) return 'the binary removed from every node, and then the finalizer';
    if (!build.spec.ok) return 'unclear: the spec is invalid';
    const { binaryName, jobName } = build.spec.spec;
    return `${binaryName}, built by Job ${jobName}`;
  },
  there: ({ observation }) => {
    const { build, jobs } = observation;
    if (build === 'gone') return 'nothing';
    const { phase, artifacts = [] } = build.status;
    return [
      ...(phase === undefined ? [] : [`phase ${phase}`]),
      artifacts.length === 0 ? 'no binary on any node' : listed(artifacts),
      ...jobs.map(jobText),
      ...troubles(observation),
    ].join('; ');
  },
  advice: adviceOn,
};

function jobText({ name, state, deleting, node }: JobView): string {
  const running = node === '' ? 'is running' : `is to run on ${node}`;
  return `Job ${name} ${deleting ? 'is being deleted' : state === 'active' ? running : `has ${state}`}`;
}

function troubles({ pods }: Observation): string[] {
  return [troubleOf(pods, 'build'), troubleOf(pods, 'cleanup')].filter((text) => text !== '');
}

function adviceOn(trouble: Trouble, object: KubernetesObject): readonly Advice[] | undefined {
  const { name, namespace = '', deletionTimestamp } = object.metadata;
  if (trouble.is === 'stalled') return onStalled(trouble.because, namespace);
  if (deletionTimestamp !== undefined) {
    return [...onTrouble(object), ...onCleanupJob(trouble, object), ...onCleanup(name, namespace)];
  }
  if (trouble.is === 'waiting') return onWaiting(trouble.for, object);
  return trouble.failure === 'Refused'
    ? ['change what refuses the Job, named above, and then retry']
    : undefined;
}

function onStalled(because: string, namespace: string): readonly Advice[] {
  const [, job] = /^Job (\S+) failed/.exec(because) ?? [];
  if (job === undefined) return ['correct the spec; that is noticed at once'];
  return [
    'correct the spec, which is noticed at once',
    { run: `kubectl logs -n ${namespace} job/${job}`, to: 'show what the build wrote' },
    { run: `kubectl delete job ${job} -n ${namespace}`, to: 'build the same again' },
  ];
}

function onCleanup(name: string, namespace: string): readonly Advice[] {
  const run = `kubectl annotate xxx ${name} -n ${namespace} ${SKIP_CLEANUP_ANNOTATION}=true`;
  return [
    'bring the node of the cleanup Job back, or delete the Node if the machine is gone for good',
    { run, to: 'leave the binary on the node, and remove the finalizer' },
  ];
}

/** What shows why a cleanup does not run. */
function onCleanupJob(trouble: Trouble, { metadata, ...rest }: KubernetesObject): readonly Advice[] {
  const [, job] = trouble.is === 'waiting' ? (/^cleanup Job (\S+) to end/.exec(trouble.for) ?? []) : [];
  if (job === undefined) return [];
  const [first] = listOf(fieldsOf(rest['status'])['artifacts']);
  const node = textOf(first?.['node']);
  return [
    describePodsOf(job, metadata.namespace),
    ...(node === undefined ? [] : [{ run: `kubectl get node ${node}`, to: 'see whether the node is ready' }]),
  ];
}

function onWaiting(what: string, object: KubernetesObject): readonly Advice[] | undefined {
  const { namespace = '' } = object.metadata;
  const [, taken] = /^the Job name (\S+) to become free/.exec(what) ?? [];
  if (taken !== undefined) {
    const job = `job ${taken} -n ${namespace}`;
    return [
      'change spec.jobName, which is noticed at once; or delete that Job, if nobody needs it',
      { run: `kubectl get ${job} -o yaml`, to: 'see whose Job has the name' },
      { run: `kubectl delete ${job}`, to: "end somebody else's Job" },
    ];
  }
  const [, job] = /^Job \S+\/(\S+) to end/.exec(what) ?? [];
  if (job === undefined) return undefined;
  return [...onTrouble(object), describePodsOf(job, namespace)];
}

function describePodsOf(job: string, namespace = ''): Advice {
  return { run: `kubectl describe pods -n ${namespace} -l job-name=${job}`, to: 'see how its Pods do' };
}

function onTrouble(object: KubernetesObject): readonly Advice[] {
  const message = textOf(fieldsOf(object['status'])['message']) ?? '';
  return message.includes('cannot be pulled')
    ? ["make the image available to the nodes, or change the operator's --build-image"]
    : [];
}
