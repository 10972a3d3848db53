import type { Cause } from '../src/contract/cause.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import { truncate } from '../src/contract/text.ts';
import { fieldsOf, textOf } from '../src/controllers/fields.ts';
import { redacted } from '../src/contract/redacted.ts';
import type { JobView } from '../src/controllers/git-build/views.ts';
import { EVENTS } from '../src/controllers/kinds.ts';
import { causeOfRefusal } from '../src/contract/refusal.ts';
import type { ObjectClient } from '../src/kubernetes/kube.ts';

/** The Job controller records fewer of one Job in an hour: client-go limits them to 25, and one in five minutes. */
const EVENTS_MAX = 50;
const WORDS_MAX = 700;

/** Why the Pods of a Job are refused, in the server's words, from the newest Event about it. @throws ApiError */
export async function refusalOfPods(
  kube: Pick<ObjectClient, 'list'>,
  namespace: string,
  { uid }: JobView,
): Promise<Cause | 'none'> {
  const fieldSelector = `regarding.uid=${uid},reason=FailedCreate`;
  const about = { type: EVENTS, namespace, fieldSelector, limit: EVENTS_MAX };
  const items = await kube.list(about, (event) => event);
  const newest = items.toSorted((a, b) => lastSeenMs(a) - lastSeenMs(b)).at(-1);
  return newest === undefined ? 'none' : causeOfRefusal(wordsIn(newest), { namespace });
}

/** The older recorder of client-go writes the deprecated fields. */
function lastSeenMs(event: KubernetesObject): number {
  const series = fieldsOf(event['series']);
  const times = [series['lastObservedTime'], event['deprecatedLastTimestamp'], event['eventTime']];
  return Date.parse(times.flatMap((time) => textOf(time) ?? [])[0] ?? '') || 0;
}

/** Without the name of the Pod, which is another each time. */
function wordsIn(event: KubernetesObject): string {
  const words = redacted(textOf(event['note']) ?? '')
    .replace(/^(\(combined from similar events\): )?Error creating: /, '')
    .replace(/^pods? "[^"]*" is (forbidden|invalid): /i, '');
  return truncate(words, WORDS_MAX);
}
