import {
  EVENTS,
  JOBS,
  NAMESPACES,
  PODS,
  redacted,
  refusalCause,
  truncate,
  type Cause,
  type KubernetesObject,
  type KubeReader,
} from '../../api/index.ts';
import type { Build, BuildView, NameHolder, Running } from './facts.ts';
import { BUILD_UID_LABEL, buildNameIn } from './kind.ts';
import { cleanupJobName } from './jobs.ts';
import type { Sharers } from './sharing.ts';
import { jobView, podView } from './views.ts';

interface Reading {
  readonly resource: Build;
  readonly kube: KubeReader;
  readonly signal: AbortSignal;
}

/** @param sharers of the process, so that one reading serves many */
export function buildLookups(sharers: () => Sharers) {
  return {
    running: { read: runningOf },
    holder: { read: ({ kube, resource }: Reading) => holderOf(kube, resource, jobNameOf(resource)) },
    cleanupHolder: {
      read: ({ kube, resource }: Reading) => holderOf(kube, resource, cleanupNameOf(resource.view)),
    },
    namespace: { read: namespaceOf },
    sharers: {
      read: ({ resource: { metadata, view }, kube, signal }: Reading) =>
        sharers().of({ uid: metadata.uid, artifacts: view.status.artifacts ?? [], kube, signal }),
    },
    refusedPods: { read: refusedPods },
  };
}

function jobNameOf({ view: { spec } }: Build): string {
  return spec.ok ? spec.spec.jobName : '';
}

/** Of the Jobs that remove the binaries of a build. */
export function cleanupNameOf({ spec, status, uid }: BuildView): string {
  return cleanupJobName(status.jobName ?? (spec.ok ? spec.spec.jobName : uid));
}

/** Jobs before Pods: a Job that is gone by then creates no Pod that the list would miss. */
async function runningOf({ kube, resource: { metadata, view } }: Reading): Promise<Running> {
  const own = { namespace: view.namespace, labelSelector: `${BUILD_UID_LABEL}=${metadata.uid}` };
  const jobs = await kube.list(JOBS, own, jobView);
  return { jobs, pods: await kube.list(PODS, own, podView) };
}

export async function holderOf(
  kube: KubeReader,
  { metadata }: Pick<Build, 'metadata'>,
  jobName: string,
): Promise<NameHolder> {
  const at = { type: JOBS, namespace: metadata.namespace, name: jobName };
  const object = await kube.get(at, { metadataOnly: true });
  if (object === undefined) return 'free';
  const { ownerReferences = [], annotations } = object.metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const isOwn = owner?.uid === metadata.uid || buildNameIn(annotations) === metadata.name;
  return jobView(object) ?? (isOwn ? 'altered' : 'foreign');
}

async function namespaceOf({ kube, resource: { metadata } }: Reading): Promise<'there' | 'terminating'> {
  const at = { type: NAMESPACES, name: metadata.namespace ?? '' };
  const namespace = await kube.get(at, { metadataOnly: true });
  const isThere = namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
  return isThere ? 'there' : 'terminating';
}

/** The Job controller records fewer of one Job in an hour: client-go limits them to 25, and one in five minutes. */
const EVENTS_MAX = 50;
const WORDS_MAX = 700;

/** Source: events.k8s.io/v1, Event. */
interface EventOfJob extends KubernetesObject {
  readonly regarding?: { readonly uid?: string };
  readonly note?: string;
  readonly eventTime?: string | null;
  readonly deprecatedLastTimestamp?: string | null;
  readonly series?: { readonly lastObservedTime?: string };
}

/** In the server's words, from the newest Event about each Job. */
async function refusedPods({ kube, resource }: Reading): Promise<Readonly<Record<string, Cause>>> {
  const { namespace = '' } = resource.metadata;
  const names = [jobNameOf(resource), cleanupNameOf(resource.view)].filter((name) => name !== '');
  const events: EventOfJob[] = [];
  for (const name of names) {
    const fieldSelector = `regarding.kind=Job,regarding.name=${name},reason=FailedCreate`;
    events.push(...(await kube.list<EventOfJob>(EVENTS, { namespace, fieldSelector, limit: EVENTS_MAX })));
  }
  const sorted = events.toSorted((a, b) => lastSeenMs(a) - lastSeenMs(b));
  return Object.fromEntries(
    sorted.map((event) => [event.regarding?.uid ?? '', refusalCause(wordsIn(event), { namespace })]),
  );
}

function lastSeenMs({ series, deprecatedLastTimestamp, eventTime }: EventOfJob): number {
  return Date.parse(series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? '') || 0;
}

/** Without the name of the Pod, which is another each time. */
function wordsIn({ note = '' }: EventOfJob): string {
  const words = redacted(note)
    .replace(/^(\(combined from similar events\): )?Error creating: /, '')
    .replace(/^pods? "[^"]*" is (forbidden|invalid): /i, '');
  return truncate(words, WORDS_MAX);
}
