import type { KubernetesObject } from '../src/contract/object.ts';
import type { Logger } from '../src/contract/logger.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { converged, stalled, type Outcome } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import type { RoleBindingActivities } from '../src/controllers/namespace-role-binding/activities.ts';
import {
  bindingNameFor,
  bindingState,
  decideRoleBinding,
  MANAGED_BY_LABEL,
  namespaceState,
  RBAC_API_GROUP,
  wantedRoleBinding,
  type RoleBinding,
  type RoleBindingOptions,
  type RoleBindingStep,
} from '../src/controllers/namespace-role-binding/decide.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { found } from '../src/kubernetes/found.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { atTheEdge } from './edge.ts';
import type { Recorder } from './events.ts';
import { rereadingOnConflict } from './reread.ts';

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };
const ROLE_BINDINGS = { group: RBAC_API_GROUP, version: 'v1', plural: 'rolebindings' };
const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace' };

interface Dependencies {
  readonly client: KubernetesClient;
  readonly recorder: Recorder;
  readonly options: RoleBindingOptions;
  readonly log: Logger;
}

/** What was read, and what it calls for. `binding` is there for the steps that change one. */
type Live =
  | { readonly step: 'gone' | 'nothing' | 'create' | 'refuse' }
  | { readonly step: 'correct-subjects' | 'replace' | 'release'; readonly binding: RoleBinding };

export function roleBindingActivities({
  client,
  recorder,
  options,
  log,
}: Dependencies): RoleBindingActivities {
  return {
    bindNamespace: ({ ref, seen }) =>
      atTheEdge({ log, recorder, regarding: NAMESPACE }, ref, (runLog) =>
        // Of all steps only the create can be made unread: it fails where a binding is there after all.
        rereadingOnConflict<Live>(
          seen?.step === 'create' ? { step: 'create' } : undefined,
          () => read(ref),
          (live) => act(ref, live, runLog),
        ),
      ),
  };

  async function read(ref: ResourceRef): Promise<Live> {
    const [namespace, binding] = await Promise.all([
      found(
        client.request<KubernetesObject>({
          method: 'GET',
          path: resourcePath(NAMESPACES, { name: ref.name }),
          metadataOnly: true,
        }),
      ),
      found(client.request<RoleBinding>({ method: 'GET', path: bindingPath(ref) })),
    ]);
    if (namespace?.metadata.uid !== ref.uid) return { step: 'gone' };
    const state = bindingState(binding, ref.name, options);
    return liveStep(decideRoleBinding(namespaceState(namespace.metadata, options), state), binding);
  }

  async function act(ref: ResourceRef, live: Live, runLog: Logger): Promise<Outcome> {
    switch (live.step) {
      case 'gone':
        return converged('the namespace is gone');
      case 'nothing':
        return converged('no update required');
      case 'create':
        return create(ref, runLog);
      case 'correct-subjects':
        return correctSubjects(ref, live.binding, runLog);
      case 'replace':
        return replace(ref, live.binding, runLog);
      case 'release':
        return release(ref, live.binding, runLog);
      case 'refuse':
        return refuse(ref, runLog);
      default:
        return unreachable(live);
    }
  }

  async function create(ref: ResourceRef, runLog: Logger): Promise<Outcome> {
    const created = await createdBinding(ref);
    if (created === undefined) return converged('the namespace is being deleted');
    const did = `created role binding ${created.metadata.name} to ClusterRole ${options.clusterRole}`;
    tell(ref, { reason: 'Created', action: 'Create', did, occasion: created.metadata.uid }, runLog);
    return converged(did);
  }

  /** @returns the binding, or undefined where its namespace is going or gone */
  async function createdBinding(ref: ResourceRef): Promise<RoleBinding | undefined> {
    try {
      return await post(ref, {});
    } catch (error) {
      if (isNamespaceGoing(error)) return undefined;
      throw error;
    }
  }

  async function correctSubjects(ref: ResourceRef, binding: RoleBinding, runLog: Logger): Promise<Outcome> {
    const { subjects } = wantedRoleBinding(ref.name, options);
    const { name, resourceVersion } = binding.metadata;
    const corrected = await patch(ref, { metadata: { resourceVersion }, subjects });
    const did = `put back the subjects of role binding ${name}`;
    const occasion = corrected.metadata.resourceVersion;
    tell(ref, { reason: 'Corrected', action: 'Correct', did, occasion }, runLog);
    return converged(did);
  }

  /** `roleRef` is immutable (RBAC documentation, "Bindings cannot change the role"): delete and create. */
  async function replace(ref: ResourceRef, binding: RoleBinding, runLog: Logger): Promise<Outcome> {
    await proveAcceptable(ref);
    const { uid, resourceVersion, name } = binding.metadata;
    await client.request({
      method: 'DELETE',
      path: bindingPath(ref),
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } },
    });
    const created = await createdBinding(ref);
    if (created === undefined) return converged('the namespace is being deleted');
    const did = `replaced role binding ${name}: it referred to ${binding.roleRef.kind} ${binding.roleRef.name}`;
    tell(ref, { reason: 'Replaced', action: 'Replace', did, occasion: created.metadata.uid }, runLog);
    return converged(did);
  }

  /**
   * Admission and the escalation check come before the look whether the name is taken, so AlreadyExists
   * means that all else would be accepted: apiserver, registry/generic/registry/store.go, `Create`.
   */
  async function proveAcceptable(ref: ResourceRef): Promise<void> {
    try {
      await post(ref, { dryRun: 'All' });
    } catch (error) {
      if (!(error instanceof ApiError && error.classification === 'already-exists')) throw error;
    }
  }

  async function release(ref: ResourceRef, binding: RoleBinding, runLog: Logger): Promise<Outcome> {
    const { name, resourceVersion } = binding.metadata;
    const released = await patch(ref, {
      metadata: { resourceVersion, labels: { [MANAGED_BY_LABEL]: null } },
    });
    const did = `released role binding ${name}: the namespace is not selected any more`;
    const occasion = released.metadata.resourceVersion;
    tell(ref, { reason: 'Released', action: 'Release', did, occasion }, runLog);
    return converged(did);
  }

  function refuse(ref: ResourceRef, runLog: Logger): Outcome {
    const note =
      `RoleBinding ${ref.name}/${bindingNameFor(ref.name, options)} differs from what is wanted and is not ours, ` +
      `so it is left alone: delete it, or label it ${MANAGED_BY_LABEL}=durable-operator to hand it over`;
    const event = { type: 'Warning', reason: 'ForeignRoleBinding', action: 'Bind', note } as const;
    recorder.record(ref, NAMESPACE, event, runLog);
    return stalled(note);
  }

  function bindingPath(ref: ResourceRef): string {
    return resourcePath(ROLE_BINDINGS, { namespace: ref.name, name: bindingNameFor(ref.name, options) });
  }

  function post(ref: ResourceRef, query: { dryRun?: 'All' }): Promise<RoleBinding> {
    const path = resourcePath(ROLE_BINDINGS, { namespace: ref.name });
    return client.request({ method: 'POST', path, query, body: wantedRoleBinding(ref.name, options) });
  }

  function patch(ref: ResourceRef, body: object): Promise<RoleBinding> {
    const contentType = 'application/merge-patch+json';
    return client.request({ method: 'PATCH', path: bindingPath(ref), body, contentType });
  }

  /** Each happening is an Event of its own, though the words are those of the last one. */
  function tell(ref: ResourceRef, { did, ...event }: Happening, runLog: Logger): void {
    recorder.record(ref, NAMESPACE, { ...event, type: 'Normal', note: did }, runLog);
  }
}

interface Happening {
  readonly reason: string;
  readonly action: string;
  readonly did: string;
  readonly occasion: string;
}

function liveStep(step: RoleBindingStep, binding: RoleBinding | undefined): Live {
  switch (step) {
    case 'nothing':
    case 'create':
    case 'refuse':
      return { step };
    case 'correct-subjects':
    case 'replace':
    case 'release':
      if (binding === undefined) throw new Error(`decided to ${step} a role binding that is not there`);
      return { step, binding };
    default:
      return unreachable(step);
  }
}

/** A create meets 404 where its namespace is gone, and a 403 of its own where it is going. */
function isNamespaceGoing(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.classification === 'not-found' || error.classification === 'namespace-terminating')
  );
}
