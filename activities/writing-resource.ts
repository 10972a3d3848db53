import { fieldsOf } from '../src/api/fields.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import { noteKeyOf } from '../src/engine/note.ts';
import { declaredBy, withoutMissing } from '../src/engine/children/declared.ts';
import {
  type DefinedObservation,
  type LiveReads,
  type LibraryStep,
  type SeenResource,
} from '../src/engine/observation.ts';
import { type AnyDefinition } from '../src/engine/definition.ts';
import { definedView, type DefinedView } from '../src/engine/view.ts';
import { REQUEST_TIMEOUT_MS } from './authors-kube.ts';
import { changeOf, requireKept } from './overridden.ts';
import { type Performed } from './reconciler.ts';
import { withTheSameChildren } from './observing.ts';

import type { Served } from './served.ts';

/** A write of the resource itself, conditional on its version. */
export async function writeResource(
  { definition, client, kube, isReadLess }: Served,
  step: LibraryStep,
  { observation, ref }: { readonly observation: DefinedObservation; readonly ref: ResourceRef },
): Promise<Performed<DefinedObservation>> {
  const { uid } = ref;
  const type = definition.for;
  const { resourceVersion } = step;
  const isStatus = step.do === 'updateStatus';
  const metadata = { uid, resourceVersion };
  const sent = isStatus
    ? { metadata, status: step.status }
    : { metadata: { ...metadata, ...changeOfMetadata(definition, step) } };
  const at = { ...ref, type, ...(isStatus && { subresource: 'status' as const }) };
  const written = await kube.patch(at, sent, { timeoutMs: REQUEST_TIMEOUT_MS });
  if (isStatus) requireKept(step.status, fieldsOf(written['status']), type);
  const did = [DID[step.do]];
  const changed = changeOf(sent, written, client.fieldManager);
  return {
    observation: after({ definition, isReadLess }, observation, written),
    view: withTheSameChildren(observation),
    did,
    changed,
  };
}

function changeOfMetadata(
  definition: AnyDefinition,
  step: Exclude<LibraryStep, { do: 'updateStatus' }>,
): object {
  return 'note' in step
    ? { annotations: { [noteKeyOf(definition)]: step.note } }
    : { finalizers: step.finalizers };
}

/** What the author observes outside is observed anew. */
function after(
  { definition, isReadLess }: Pick<Served, 'definition' | 'isReadLess'>,
  before: DefinedObservation,
  written: KubernetesObject,
): DefinedObservation | undefined {
  if (before === 'gone') return undefined;
  if (before.live === undefined) return isReadLess ? shownAfter(definition, before, written) : undefined;
  // What has failed for good, or has to wait, is not tried once more.
  const isAskedAgain = definition.observe !== undefined || before.live.unobserved !== undefined;
  const { never, waiting } = before.live;
  if (isAskedAgain && (never ?? waiting) === undefined) return undefined;
  const view = definedView(definition, written);
  const declared = view && declaredAfter(definition, view, before);
  return declared && { ...before, view, live: { ...before.live, ...declared } };
}

/** What it owns is as the watch shows it, still. */
function shownAfter(
  definition: AnyDefinition,
  before: SeenResource,
  written: KubernetesObject,
): DefinedObservation | undefined {
  const view = definition.children === undefined ? definedView(definition, written) : undefined;
  return view && { ...before, view, isOwnedShown: true };
}

/** What is declared may follow from the status that was just written. Undefined: what there is of it has to be read. */
function declaredAfter(
  definition: AnyDefinition,
  { resource }: DefinedView,
  { live, referred }: SeenResource,
): Pick<LiveReads, 'declared'> | undefined {
  const before = live?.declared;
  if (before === undefined || resource === undefined || resource.isBeingDeleted) return {};
  const there = 'there' in before ? before.there : [];
  const anew = declaredBy(definition, resource, { references: referred?.objects ?? [], there });
  if (anew === undefined || 'outcome' in anew) return { declared: anew };
  return 'outcome' in before
    ? undefined
    : { declared: { ...before, ...withoutMissing(anew, before.missing) } };
}

const DID = {
  addFinalizer: { did: 'added', what: 'the finalizer' },
  removeFinalizer: { did: 'removed', what: 'the finalizer' },
  updateStatus: { did: 'updated', what: 'the status' },
  updateState: { did: 'noted', what: 'what was found' },
} as const;
