import type { DecisionEvent, Action } from '../src/contract/decision.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import {
  bindingView,
  namespaceRoleBinding,
  namespaceView,
  observationOf,
} from '../src/controllers/namespace-role-binding/controller.ts';
import {
  bindingNameFor,
  desiredRoleBinding,
  type BindingView,
  type NamespaceView,
  type Observation,
  type RoleBindingOptions,
  type RoleBindingStep,
} from '../src/controllers/namespace-role-binding/decide.ts';
import { MANAGED_BY_LABEL, NAMESPACES, ROLE_BINDINGS } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { isNamespaceEnding, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf, type ConditionalPatch, type ObjectAt } from '../src/kubernetes/kube.ts';
import { changeOf } from './overridden.ts';
import { PartlyDone, type Performed, type Reconciler, type StepContext } from './reconciler.ts';

/** A body, and the API server's answer. */
interface Write {
  readonly sent: object;
  readonly answer: KubernetesObject;
}

/** How a namespace and its RoleBinding are read, and how the RoleBinding is written. */
export function roleBindingReconciler(
  client: KubernetesClient,
  options: RoleBindingOptions,
): Reconciler<Observation, RoleBindingStep> {
  const kube = kubeOf(client);
  return { controller: namespaceRoleBinding(options), observe, confirm, perform };

  async function observe({ ref }: StepContext): Promise<Observation> {
    const [namespace, binding] = await Promise.all([readNamespace(ref), kube.get(bindingAt(ref))]);
    return observationOf(namespace, binding && bindingView(binding, options), options);
  }

  async function readNamespace(ref: ResourceRef): Promise<NamespaceView> {
    const namespace = await kube.get({ type: NAMESPACES, name: ref.name }, { metadataOnly: true });
    if (namespace?.metadata.uid === ref.uid) return namespaceView(namespace, options);
    return { name: ref.name, resourceVersion: '', state: 'gone' };
  }

  /** A create meets AlreadyExists where there is a binding after all; but access must not be given back from a stale view. */
  async function confirm(step: RoleBindingStep, view: Observation, { ref }: StepContext) {
    if (step.do !== 'createRoleBinding') return undefined;
    return { ...view, namespace: await readNamespace(ref) };
  }

  function perform(
    step: RoleBindingStep,
    before: Observation,
    { ref }: StepContext,
  ): Promise<Performed<Observation>> {
    switch (step.do) {
      case 'createRoleBinding':
        return create(ref, before);
      case 'updateRoleBinding':
        return update(ref, before, step.binding);
      case 'replaceRoleBinding':
        return replace(ref, before, step.binding);
      case 'releaseRoleBinding':
        return release(ref, before, step.binding);
      default:
        return unreachable(step);
    }
  }

  async function create(ref: ResourceRef, before: Observation): Promise<Performed<Observation>> {
    const created = await createdBinding(ref);
    if (created === undefined) return { observation: terminating(before), did: [] };
    const what = `RoleBinding ${before.bindingName} to ClusterRole ${options.clusterRole}`;
    return done(
      before,
      writtenAs(ref, created),
      { reason: 'Created', action: 'Create' },
      { did: 'created', what },
    );
  }

  /** @returns the binding, or undefined where its namespace is being deleted or gone */
  async function createdBinding(ref: ResourceRef): Promise<KubernetesObject | undefined> {
    try {
      return await post(ref);
    } catch (error) {
      if (isNamespaceEnding(error)) return undefined;
      throw error;
    }
  }

  async function update(ref: ResourceRef, before: Observation, { resourceVersion }: BindingView) {
    const { subjects } = desiredRoleBinding(ref.name, options);
    const updated = await patch(ref, { metadata: { resourceVersion }, subjects });
    const what = `the subjects of RoleBinding ${before.bindingName}`;
    return done(before, updated, { reason: 'Restored', action: 'Update' }, { did: 'restored', what });
  }

  /** `roleRef` is immutable (RBAC documentation, "Changing roleRef"): delete and create. */
  async function replace(
    ref: ResourceRef,
    before: Observation,
    binding: BindingView,
  ): Promise<Performed<Observation>> {
    await proveAcceptable(ref);
    const { uid, resourceVersion, role } = binding;
    await kube.delete(bindingAt(ref), { uid, resourceVersion });
    // From here on something was done, which must not be lost: what comes next is decided from what is there by then, and
    // meets the failure again, if it lasts.
    const deleted = [{ did: 'deleted', what: `RoleBinding ${before.bindingName}` }];
    const created = await createdBinding(ref).catch((error: unknown) => {
      if (isOf(error, 'retry-after')) throw new PartlyDone(error, deleted);
      return undefined;
    });
    if (created === undefined) return { observation: undefined, did: deleted };
    const what = `RoleBinding ${before.bindingName}, which referred to ${role}`;
    return done(
      before,
      writtenAs(ref, created),
      { reason: 'Replaced', action: 'Replace' },
      { did: 'replaced', what },
    );
  }

  /**
   * Admission and the escalation check come before the look whether the name is taken, so AlreadyExists
   * means that the rest would be accepted: apiserver, registry/generic/registry/store.go, `Create`.
   */
  async function proveAcceptable(ref: ResourceRef): Promise<void> {
    try {
      await post(ref, { dryRun: 'All' });
    } catch (error) {
      if (!isOf(error, 'already-exists')) throw error;
    }
  }

  async function release(ref: ResourceRef, before: Observation, { resourceVersion }: BindingView) {
    const labels = { [MANAGED_BY_LABEL]: null };
    const released = await patch(ref, { metadata: { resourceVersion, labels } });
    const what = `RoleBinding ${before.bindingName}: the namespace is no longer selected`;
    return done(before, released, { reason: 'Released', action: 'Release' }, { did: 'released', what });
  }

  /** Each write is an Event of its own, though its note may repeat the last one's: the resourceVersion distinguishes them. */
  function done(
    before: Observation,
    { sent, answer }: Write,
    about: Pick<DecisionEvent, 'reason' | 'action'>,
    action: Action,
  ): Performed<Observation> {
    const { uid, resourceVersion } = answer.metadata;
    const note = `${action.did} ${action.what}`;
    return {
      observation: { ...before, binding: bindingView(answer, options) },
      did: [action],
      changed: changeOf(sent, answer),
      event: { type: 'Normal', ...about, note, occasion: `${uid} ${resourceVersion}` },
    };
  }

  function bindingAt({ name: namespace }: ResourceRef): ObjectAt {
    return { type: ROLE_BINDINGS, namespace, name: bindingNameFor(namespace, options) };
  }

  function post(ref: ResourceRef, query: { dryRun?: 'All' } = {}): Promise<KubernetesObject> {
    return kube.create(ROLE_BINDINGS, desiredRoleBinding(ref.name, options), { query });
  }

  async function patch(ref: ResourceRef, sent: ConditionalPatch): Promise<Write> {
    return { sent, answer: await kube.patch(bindingAt(ref), sent) };
  }

  function writtenAs(ref: ResourceRef, answer: KubernetesObject): Write {
    return { sent: desiredRoleBinding(ref.name, options), answer };
  }
}

function terminating(before: Observation): Observation {
  return { ...before, namespace: { ...before.namespace, state: 'terminating' } };
}
