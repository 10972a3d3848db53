import { definedReconciler } from '../activities/defined-reconciler.ts';
import type { Reconciler } from '../activities/reconciler.ts';
import type { KnownObservation } from '../activities/run-memory.ts';
import type { PolicyRule } from '../src/api/policy-rule.ts';
import type { ResourceType } from '../src/api/resource-type.ts';
import { definedController } from '../src/engine/defined-controller.ts';
import type { AnyDefinition } from '../src/engine/definition.ts';
import type { DefinedObservation } from '../src/engine/observation.ts';
import { fieldsOf, textOf } from '../src/api/fields.ts';
import { wrongAtEnd, type ExploredSubject } from './ends.ts';
import { placeIn, wordsOf, type Request } from './explorer/api-server.ts';
import { activityOf } from './explorer/attempt.ts';
import type { SimulatedCluster } from './explorer/cluster.ts';
import { datumOf } from './explorer/values.ts';
import type { Move, World } from './explorer/world.ts';
import { OUTSIDE_TYPE } from './outside.ts';
import { unpermitted } from './permitted.ts';
import { revived } from './revived.ts';
import type { JudgedWrite } from './scenario.ts';
import { DELETE, Stage, typeNamed } from './stage.ts';

/** The controller in the scenario. */
export function worldOf(subject: ExploredSubject): World {
  const { scenario, fake } = subject;
  const definition: AnyDefinition = { ...subject.definition, digestOfData: datumOf, isExplored: true };
  const controller = definedController(definition);
  const stage = new Stage(controller, subject);
  const activity = activityOf((client) => {
    const its: Reconciler = definedReconciler(definition, client);
    const through: Reconciler = {
      ...its,
      observe: (...asked) => fake.through(client, () => its.observe(...asked)),
      perform: (...asked) => fake.through(client, () => its.perform(...asked)),
    };
    return through;
  });
  return {
    controller,
    activity: (broken) => (client, context, attempt) => {
      const known = attempt.known as KnownObservation<DefinedObservation> | undefined;
      return activity(broken)(client, context, { ...attempt, known: revived(definition, known) });
    },
    readsView: definition.children !== undefined,
    types: [controller.primary.type, OUTSIDE_TYPE, ...typesIn(controller.permissions)],
    objects: stage.objects(),
    home: stage.home,
    happenings: once((cluster) => [
      ...stage.orphans(cluster),
      ...stage.moves(scenario.happens ?? {}, cluster),
    ]),
    others: {
      [DELETE]: (cluster) => stage.deletion(cluster),
      ...mapped(scenario.userEdits ?? {}, (what, edit) =>
        once((cluster) => stage.edits(what, edit, cluster)),
      ),
      ...mapped(scenario.externalChanges ?? {}, (what, act) =>
        once((cluster) => stage.moves({ [what]: act }, cluster)),
      ),
    },
    ...(scenario.never && {
      violation(request, cluster, isUndisturbed) {
        const write = writeIn(request);
        const why: unknown = scenario.never?.(write, { ...stage.at(cluster), isUndisturbed });
        return typeof why === 'string' && why !== '' ? `${wordsOf(request)}: ${why}` : undefined;
      },
    }),
    shortcomings: (cluster, comesBack = false) =>
      wrongAtEnd(subject, { cluster, comesBack, ...stage.at(cluster) }),
    outside: {
      serve(request, cluster) {
        if (request.method === 'CALL') return fake.serve(request, cluster);
        unpermitted(request, controller.permissions);
        if (stage.creates(request, cluster))
          unpermitted({ ...request, method: 'POST' }, controller.permissions);
        stage.guardOthers(request, cluster);
        return undefined;
      },
      isWrite: (request, cluster) => fake.changes(request, cluster),
      readsClock: subject.readsClock,
      polls: definition.pollInterval !== undefined,
    },
  };
}

/** As an author sees it. */
function writeIn(request: Request): JudgedWrite {
  const { plural, namespace, name, subresource } = placeIn(request.path);
  const sent = fieldsOf(request.body);
  const { name: nameSent, uid: uidSent } = fieldsOf(sent['metadata']);
  const isEviction = subresource === 'eviction';
  const isDelete = isEviction || request.method === 'DELETE';
  const conditions = fieldsOf(fieldsOf(isEviction ? sent['deleteOptions'] : sent)['preconditions']);
  const uid = textOf(isDelete ? conditions['uid'] : uidSent);
  return {
    verb: isDelete ? 'delete' : verbOf(request, subresource),
    plural,
    ...(namespace !== undefined && { namespace }),
    name: name ?? textOf(nameSent) ?? '',
    ...(uid !== undefined && { uid }),
    ...(!isDelete && { object: structuredClone(sent) }),
  };
}

function verbOf({ method, query }: Request, subresource: string | undefined): JudgedWrite['verb'] {
  if (method === 'POST') return 'create';
  if (subresource === 'scale') return 'scale';
  return query?.['force'] === undefined ? 'patch' : 'apply';
}

/** It depends on nothing but the objects of the cluster. */
function once(
  find: (cluster: SimulatedCluster) => readonly Move[],
): (cluster: SimulatedCluster) => readonly Move[] {
  const known = new Map<string, readonly Move[]>();
  return (cluster) => {
    const found = known.get(cluster.text) ?? find(cluster);
    known.set(cluster.text, found);
    return found;
  };
}

/** Of what a controller may do. */
function typesIn(rules: readonly PolicyRule[]): readonly ResourceType[] {
  return rules.flatMap(({ apiGroups: [group = ''], resources }) =>
    resources.map((resource) => typeNamed(resource.split('/')[0] ?? '', group)),
  );
}

function mapped<V, W>(
  record: Readonly<Record<string, V>>,
  map: (name: string, value: V) => W,
): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(name, value)]));
}
