import * as builtIn from '../src/api/built-in.ts';
import { isKind } from '../src/api/controller.ts';
import type { Controller } from '../src/engine/controller.ts';
import type { ResourceType } from '../src/api/resource-type.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { canonicalText, fieldsOf, textOf } from '../src/api/fields.ts';
import { elsewhere, objectKey, type SimulatedCluster, type Created } from './explorer/cluster.ts';
import { FINALIZERS, placeIn, type Request } from './explorer/api-server.ts';
import { Violation } from './explorer/explorer.ts';
import type { Move, World } from './explorer/world.ts';
import { createdBy, editedBy } from './explorer/managed-fields.ts';
import { keep, keptIn, OUTSIDE, OUTSIDE_TYPE } from './outside.ts';
import type { AnyObject, Draft, Situation } from './scenario.ts';
import type { AnyScenario, ExploredSubject } from './ends.ts';

const OF_COLLECTOR = Object.values(FINALIZERS).flat();

export const DELETE = 'somebody deletes the resource';

/** What people, others and time do to the objects and to the fake. */
export class Stage {
  readonly #controller: Controller;
  readonly #subject: ExploredSubject;
  readonly #key: string;

  constructor(controller: Controller, subject: ExploredSubject) {
    this.#controller = controller;
    this.#subject = subject;
    this.#key = objectKey(controller.primary.type, this.#metadata.name);
  }

  /** Objects of this namespace have short keys. */
  get home(): string {
    return this.#metadata.namespace ?? 'default';
  }

  get #metadata() {
    const { name = 'example', ...more } = this.#subject.scenario.resource.metadata ?? {};
    const { namespaced } = this.#controller.primary.type;
    const namespace = namespaced ? { namespace: more.namespace ?? 'default' } : {};
    return { uid: `uid-of-${name}`, finalizers: [], ...more, ...namespace, name };
  }

  objects(): World['objects'] {
    const { type } = this.#controller.primary;
    const { scenario, fake } = this.#subject;
    const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
    const resource = this.#withDefaults({
      ...{ apiVersion, kind: type.kind, ...scenario.resource },
      metadata: this.#metadata,
    });
    const others = Object.entries(scenario.objects ?? {}).map(([key, object]) => this.#created(key, object));
    const outside: Created = { metadata: { name: 'state', uid: 'uid-of-outside' }, ...fake.initial() };
    return [...others, [OUTSIDE_TYPE, outside], [type, resource]];
  }

  /** All as plain data. */
  at(cluster: SimulatedCluster): Situation<unknown, object> {
    const objects = Object.fromEntries(
      cluster
        .keys()
        .filter((key) => key !== OUTSIDE && key !== this.#key)
        .map((key) => [key, copyOf(cluster, key)]),
    );
    const outside = this.#subject.fake.withState(keptIn(cluster).state);
    return { resource: copyOf(cluster, this.#key) as Draft<unknown> | undefined, outside, objects };
  }

  moves(acts: NonNullable<AnyScenario['externalChanges']>, cluster: SimulatedCluster): readonly Move[] {
    return Object.entries(acts).flatMap(([what, act]) => {
      const after = this.at(cluster);
      act(after);
      const changes = this.#changesFrom(this.at(cluster), after);
      return changes.length === 0
        ? []
        : [{ what, change: (it: SimulatedCluster) => changes.forEach((change) => change(it)) }];
    });
  }

  edits(
    what: string,
    edit: (resource: Draft<unknown>) => unknown,
    cluster: SimulatedCluster,
  ): readonly Move[] {
    if (this.#isGoing(cluster)) return [];
    return this.moves(
      { [what]: ({ resource }) => (resource === undefined ? undefined : edit(resource)) },
      cluster,
    );
  }

  deletion(cluster: SimulatedCluster): readonly Move[] {
    if (this.#isGoing(cluster)) return [];
    return [{ what: DELETE, change: (it) => it.markDeleted(this.#key, []) }];
  }

  /** What the garbage collector removes, or has seen to. */
  orphans(cluster: SimulatedCluster): readonly Move[] {
    return cluster.keys().flatMap((key) => {
      const {
        ownerReferences: owners = [],
        finalizers = [],
        deletionTimestamp,
      } = cluster.get(key)?.metadata ?? {};
      const left = finalizers.filter((each) => !OF_COLLECTOR.includes(each));
      if (deletionTimestamp !== undefined && left.length < finalizers.length)
        return [
          {
            what: `the garbage collector has seen to what belongs to ${key}`,
            change: (it: SimulatedCluster) => it.changeMetadata(key, () => ({ finalizers: left })),
          },
        ];
      const isOrphan =
        owners.some(({ uid }) => uid === this.#metadata.uid) && cluster.get(this.#key) === undefined;
      return isOrphan
        ? [{ what: `${key} is garbage, and collected`, change: (it: SimulatedCluster) => it.remove(key) }]
        : [];
    });
  }

  /** Whether it is an apply of what is not there. */
  creates({ path, query }: Request, cluster: SimulatedCluster): boolean {
    return query?.['force'] !== undefined && cluster.get(this.#keyIn(path)) === undefined;
  }

  #keyIn(path: string): string {
    const { plural, namespace, name = '' } = placeIn(path);
    return objectKey({ plural }, name, elsewhere(this.home, namespace));
  }

  /** @throws Violation where it is about to change what others have made */
  guardOthers({ method, path }: Request, cluster: SimulatedCluster): void {
    if (method !== 'PATCH' && method !== 'DELETE' && !path.endsWith('/eviction')) return;
    const key = this.#keyIn(path);
    const { ownerReferences = [], uid = '' } = cluster.get(key)?.metadata ?? {};
    const isTheirs =
      uid.startsWith('uid-of-') && !ownerReferences.some((each) => each.uid === this.#metadata.uid);
    if (key === this.#key || !isTheirs || this.#subject.scenario.mayChange?.includes(key)) return;
    throw new Violation(
      `${method} ${key} changes what is somebody else's: compare its ownerReferences first; if that is meant, name it in mayChange`,
    );
  }

  /** As the API server stores it. */
  #withDefaults<O extends Created>(object: O): O {
    const type = this.#subject.definition.for;
    const spec = isKind(type) ? type.spec.safeParse(object['spec'] ?? {}) : undefined;
    return spec?.success === true ? { ...object, spec: spec.data } : object;
  }

  #isGoing(cluster: SimulatedCluster): boolean {
    const resource = cluster.get(this.#key);
    return resource === undefined || resource.metadata.deletionTimestamp !== undefined;
  }

  /** What is gone goes first. */
  #changesFrom(before: Found, after: Found): readonly Move['change'][] {
    const [was, is] = [before, after].map(({ outside }) => this.#subject.fake.stateIn(outside));
    const changes: Move['change'][] = [];
    if (isOther(was, is)) changes.push((cluster) => keep(cluster, { state: is ?? {}, last: null }));
    const resource = after.resource as unknown as KubernetesObject | undefined;
    if (resource !== undefined && isOther(before.resource, resource))
      changes.push((cluster) => cluster.change(this.#key, (it) => edited(it, this.#withDefaults(resource))));
    for (const key of Object.keys(before.objects))
      if (after.objects[key] === undefined) changes.push((cluster) => cluster.remove(key));
    for (const [key, object] of Object.entries(after.objects))
      if (object !== undefined && isOther(before.objects[key], object))
        changes.push((cluster) => this.#becomes(cluster, key, object));
    return changes;
  }

  #becomes(cluster: SimulatedCluster, key: string, object: AnyObject): void {
    if (cluster.get(key) === undefined) cluster.create(...this.#created(key, object));
    else cluster.change(key, (before) => changedBy(before, object as unknown as KubernetesObject));
  }

  /** An object as others create it. */
  #created(key: string, object: AnyObject): readonly [ResourceType, Created] {
    const [plural = '', ...place] = key.split('/');
    const type = this.#typeOf(plural);
    const name = place.at(-1) ?? '';
    const given = fieldsOf(object['metadata']);
    const namespace = place.length > 1 ? place[0] : (textOf(given['namespace']) ?? this.home);
    const its = objectKey(type, name, type.namespaced ? elsewhere(this.home, namespace) : undefined);
    const metadata = {
      uid: `uid-of-${its.replace(/[^\w-]/g, '-')}`,
      ...given,
      ...(type.namespaced && { namespace }),
      name,
    };
    return [type, createdBy('somebody', 'Update', { ...object, metadata } as KubernetesObject)];
  }

  #typeOf(plural: string): ResourceType {
    const { owns = [], references = [] } = this.#subject.definition;
    const known = [...owns, ...references].find((type) => type.plural === plural);
    return known ?? typeNamed(plural);
  }
}

/** One of Kubernetes' own, or one that is like them. */
export function typeNamed(plural: string, group?: string): ResourceType {
  const known = Object.values<ResourceType>(builtIn).find(
    (type) => type.plural === plural && type.group === (group ?? type.group),
  );
  return known ?? { group: group ?? '', version: 'v1', plural, kind: plural, namespaced: true };
}

type Found = Situation<unknown, object>;

function isOther(before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return canonicalText(before) !== canonicalText(after);
}

/** Whoever changes the status says what there is; whoever changes the rest owns it then. */
function changedBy(before: KubernetesObject, after: KubernetesObject): KubernetesObject {
  const isSame = canonicalText({ ...before, status: 0 }) === canonicalText({ ...after, status: 0 });
  return isSame ? after : editedBy('somebody', before, () => after);
}

/** As the API server counts generations. */
function edited(before: KubernetesObject, after: KubernetesObject): KubernetesObject {
  if (canonicalText(before['spec']) === canonicalText(after['spec'])) return after;
  return { ...after, metadata: { ...after.metadata, generation: (before.metadata.generation ?? 0) + 1 } };
}

function copyOf(cluster: SimulatedCluster, key: string): AnyObject | undefined {
  const object = cluster.get(key);
  return object && structuredClone(object);
}
