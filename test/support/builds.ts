import type { KubernetesObject } from '../../src/api/object.ts';
import {
  BUILD_KIND,
  BUILDS,
  type StoredBuild as Build,
  type BuildSpec,
} from '../../src/controllers/git-build/kind.ts';
import { JOBS, NODES } from '../../src/api/kinds.ts';
import { SAMPLE } from './build-samples.ts';
import { apiCallsOf } from './operator.ts';
import type { At, Manifest, TestCluster } from './cluster.ts';
import { eventually } from '../../testing/eventually.ts';

export { JOBS, NODES } from '../../src/api/kinds.ts';
export { BUILD_DEFAULTS, SAMPLE } from './build-samples.ts';

/** All tests share two nodes: a file that another build has, too, would stay there. */
export function binaryOf(namespace: string, name = 'sample'): string {
  return `${name}-${namespace}`;
}

export function aBuild(namespace: string, name = 'sample'): BuildBuilder {
  const spec = { ...SAMPLE, binaryName: binaryOf(namespace, name) };
  return new BuildBuilder({ namespace, name, spec });
}

class BuildBuilder {
  readonly #fields: { readonly namespace: string; readonly name: string; readonly spec: object };

  constructor(fields: { namespace: string; name: string; spec: object }) {
    this.#fields = fields;
  }

  with(spec: Partial<Record<keyof BuildSpec, unknown>>): BuildBuilder {
    return new BuildBuilder({ ...this.#fields, spec: { ...this.#fields.spec, ...spec } });
  }

  /** Its Pods keep running. */
  lasting(): BuildBuilder {
    return this.with({ buildCommand: 'sleep infinity' });
  }

  failing(): BuildBuilder {
    return this.with({ buildCommand: 'exit 1' });
  }

  get manifest(): Manifest {
    const { namespace, name, spec } = this.#fields;
    return { ...BUILD_KIND, metadata: { namespace, name }, spec };
  }
}

/** One build on a real control plane, as a person with kubectl sees it. */
export class LiveBuild {
  readonly at: At;
  readonly #cluster: TestCluster;
  readonly #withinMs: number;

  constructor(cluster: TestCluster, manifest: Manifest, withinMs: number) {
    const { namespace = '', name } = manifest.metadata;
    this.at = { type: BUILDS, namespace, name };
    this.#cluster = cluster;
    this.#withinMs = withinMs;
  }

  get namespace(): string {
    return this.at.namespace ?? '';
  }

  get binary(): string {
    return binaryOf(this.namespace, this.at.name);
  }

  get(): Promise<Build | undefined> {
    return this.#cluster.get<Build>(this.at);
  }

  change(spec: Partial<BuildSpec>): Promise<Build> {
    return this.#cluster.patch<Build>(this.at, { spec });
  }

  delete(): Promise<void> {
    return this.#cluster.delete(this.at);
  }

  /** Resolves with the build once it is in this state. */
  async reaches(isThere: (build: Build) => boolean): Promise<Build> {
    let last: Build | undefined;
    try {
      return await eventually(async () => {
        last = await this.get();
        return last !== undefined && isThere(last) && last;
      }, this.#withinMs);
    } catch (error) {
      throw new Error(
        `it stayed ${JSON.stringify(last?.status)} of generation ${last?.metadata.generation}`,
        {
          cause: error,
        },
      );
    }
  }

  /** In a phase, of the latest spec. */
  is(phase: string): Promise<Build> {
    return this.reaches(
      ({ status, metadata }) => status?.phase === phase && status.observedGeneration === metadata.generation,
    );
  }

  async gone(): Promise<void> {
    await eventually(async () => (await this.get()) === undefined, this.#withinMs);
  }

  job(name = SAMPLE.jobName): Promise<KubernetesObject | undefined> {
    return this.#cluster.get({ type: JOBS, namespace: this.namespace, name });
  }

  /** What it has of a name, once it is another than the one before. */
  jobOtherThan(uid: string | undefined, name = SAMPLE.jobName): Promise<KubernetesObject> {
    return eventually(async () => {
      const job = await this.job(name);
      return (
        job !== undefined && job.metadata.uid !== uid && job.metadata.deletionTimestamp === undefined && job
      );
    }, this.#withinMs);
  }
}

/** `create jobs build-helloworld`: what the operator has asked of a namespace, Events apart; with what was refused. */
export function requestsIn(namespace: string, auditLog: string): readonly string[] {
  return apiCallsOf('operator', auditLog)
    .filter(({ objectRef, verb }) => objectRef?.namespace === namespace && verb !== 'watch')
    .filter(({ objectRef }) => objectRef?.resource !== 'events')
    .map(({ verb, objectRef, requestURI, responseStatus }) => {
      const subresource = requestURI.includes('/status') ? '/status' : '';
      const code = responseStatus?.code ?? 0;
      return `${verb} ${objectRef?.resource ?? ''}${subresource}${code < 300 ? '' : ` → ${code}`}`;
    });
}

export function conditionOf({ status }: Build, type: string): string | undefined {
  const found = status?.conditions?.find((each) => each.type === type);
  return found && `${found.status} ${found.reason}`;
}

/** A Job that somebody else made, and that never ends. */
export function aForeignJob(
  cluster: TestCluster,
  namespace: string,
  name: string,
): Promise<KubernetesObject> {
  const container = { name: 'idle', image: 'busybox', env: [{ name: 'COMMAND', value: 'sleep infinity' }] };
  return cluster.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { namespace, name },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } },
  });
}

/** Whoever tolerates its taint is bound to it, and waits. @returns its name */
export async function aNodeWithoutKubelet(cluster: TestCluster, name: string): Promise<string> {
  await cluster.create(NODES, {
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
    spec: { taints: [{ key: 'test/silent', effect: 'NoSchedule' }] },
  });
  const capacity = { cpu: '4', memory: '4Gi', pods: '10' };
  const ready = { type: 'Ready', status: 'Unknown', reason: 'Silent', message: 'It is silent.' };
  const since = new Date().toISOString();
  const conditions = [{ ...ready, lastTransitionTime: since, lastHeartbeatTime: since }];
  const status = { capacity, allocatable: capacity, conditions };
  await cluster.patch({ type: NODES, name }, { status }, 'status');
  return name;
}
