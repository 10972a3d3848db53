import { CLEANUP_SUFFIX } from './limits.ts';
import {
  ATTEMPT_ANNOTATION,
  BINARIES_ANNOTATION,
  BINARY_NAME_ANNOTATION,
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NODE_ANNOTATION,
  PURPOSE_LABEL,
  SPEC_HASH_ANNOTATION,
  type JobPurpose,
} from './names.ts';
import type { BuildOptions } from './options.ts';
import { BUILD_KIND, type BuildSpec } from './resource.ts';
import { buildScript, cleanupScript, MOUNT_PATH, unexpanded } from './script.ts';

/** The resource that a Job is for. */
export interface JobOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface WantedBuild {
  readonly spec: BuildSpec;
  readonly hash: string;
}

export interface WantedCleanup {
  /** Of the cleanup Job. */
  readonly jobName: string;
  readonly node: string;
  readonly binaries: readonly string[];
  readonly attempt: number;
}

/** A Pod is tried so often again before its Job fails. */
const BACKOFF_LIMIT = 2;
/** Long enough to be read after it has failed, and for the next try to find it. */
const CLEANUP_TTL_SECONDS = 600;

export function cleanupJobName(jobName: string): string {
  return jobName + CLEANUP_SUFFIX;
}

/** The Job that builds a spec and copies its binary to the host directory of whichever node it runs on. */
export function buildJob(owner: JobOwner, { spec, hash }: WantedBuild, options: BuildOptions) {
  const annotations = { [SPEC_HASH_ANNOTATION]: hash, [BINARY_NAME_ANNOTATION]: spec.binaryName };
  const env = {
    GIT_URL: spec.gitUrl,
    CLONE_PATH: spec.clonePath,
    BUILD_COMMAND: spec.buildCommand,
    BINARY_NAME: spec.binaryName,
    // Redirects and submodules, too, may use nothing else: git(1), GIT_ALLOW_PROTOCOL.
    GIT_ALLOW_PROTOCOL: options.gitTransports.join(':'),
    GIT_TERMINAL_PROMPT: '0',
  };
  const { uid, name } = owner;
  return job(owner, options, {
    name: spec.jobName,
    purpose: 'build',
    annotations,
    // Without `blockOwnerDeletion`, which would ask for more permissions, and hold up nothing that the finalizer does not.
    ownerReferences: [{ ...BUILD_KIND, name, uid, controller: true }],
    // A Pod that is going may still copy: the next one waits until it is gone.
    jobSpec: { podReplacementPolicy: 'Failed' },
    podSpec: {},
    container: {
      name: 'build',
      command: ['bash', '-c', buildScript()],
      env: Object.entries(env).map(([key, value]) => ({ name: key, value: unexpanded(value) })),
    },
  });
}

/**
 * The Job that removes binaries from one node. It has no owner: foreground deletion of its owner would have the
 * garbage collector delete it before it has run.
 */
export function cleanupJob(owner: JobOwner, wanted: WantedCleanup, options: BuildOptions) {
  const { jobName, node, binaries, attempt } = wanted;
  return job(owner, options, {
    name: jobName,
    purpose: 'cleanup',
    annotations: {
      [NODE_ANNOTATION]: node,
      [BINARIES_ANNOTATION]: binaries.join(','),
      [ATTEMPT_ANNOTATION]: String(attempt),
    },
    ownerReferences: [],
    jobSpec: { ttlSecondsAfterFinished: CLEANUP_TTL_SECONDS },
    podSpec: { affinity: onlyOn(node), tolerations: [{ operator: 'Exists' }] },
    container: {
      name: 'cleanup',
      command: ['bash', '-c', cleanupScript(), 'cleanup', ...binaries.map(unexpanded)],
    },
  });
}

interface JobParts {
  readonly name: string;
  readonly purpose: JobPurpose;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerReferences: readonly object[];
  readonly jobSpec: object;
  readonly podSpec: object;
  readonly container: object;
}

function job({ namespace, name, uid }: JobOwner, options: BuildOptions, parts: JobParts) {
  const labels = {
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [BUILD_UID_LABEL]: uid,
    [PURPOSE_LABEL]: parts.purpose,
  };
  const annotations = { [BUILD_NAME_ANNOTATION]: name, ...parts.annotations };
  const { ownerReferences } = parts;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: parts.name, namespace, labels, annotations, ownerReferences },
    spec: {
      backoffLimit: BACKOFF_LIMIT,
      activeDeadlineSeconds: deadlineSeconds(options),
      ...parts.jobSpec,
      template: { metadata: { labels, annotations }, spec: podSpec(options, parts) },
    },
  };
}

function deadlineSeconds({ deadlineMs }: BuildOptions): number {
  return Math.ceil(deadlineMs / 1000);
}

function podSpec(options: BuildOptions, { podSpec: more, container }: JobParts) {
  const { image, hostDir } = options;
  return {
    restartPolicy: 'Never',
    // The Job's deadline ends its Pods only while there is a Job.
    activeDeadlineSeconds: deadlineSeconds(options),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    ...more,
    containers: [
      {
        ...container,
        image,
        terminationMessagePolicy: 'FallbackToLogsOnError',
        // Root without capabilities still writes to a directory that is root's.
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'host', mountPath: MOUNT_PATH }],
      },
    ],
    volumes: [{ name: 'host', hostPath: { path: hostDir, type: 'DirectoryOrCreate' } }],
  };
}

/** By name and not by the hostname label, which may differ from it. Source: the Kubernetes docs of NodeSelectorTerm. */
function onlyOn(node: string) {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}
