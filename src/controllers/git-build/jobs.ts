import { MANAGED_BY, MANAGED_BY_LABEL } from '../kinds.ts';
import {
  ATTEMPT_ANNOTATION,
  BINARIES_ANNOTATION,
  BINARY_NAME_ANNOTATION,
  BUILD_KIND,
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  NODE_ANNOTATION,
  PURPOSE_LABEL,
  SPEC_HASH_ANNOTATION,
  type BuildSpec,
  type GitBuildOptions,
  type JobPurpose,
} from './resource.ts';
import { CLEANUP_SUFFIX } from './spec.ts';

/** The resource that a Job is for. */
export interface JobOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface BuildJobSpec {
  readonly spec: BuildSpec;
  readonly hash: string;
}

export interface CleanupJobSpec {
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
export function buildJob(owner: JobOwner, { spec, hash }: BuildJobSpec, options: GitBuildOptions) {
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
export function cleanupJob(owner: JobOwner, cleanup: CleanupJobSpec, options: GitBuildOptions) {
  const { jobName, node, binaries, attempt } = cleanup;
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

function job({ namespace, name, uid }: JobOwner, options: GitBuildOptions, parts: JobParts) {
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

function deadlineSeconds({ deadlineMs }: GitBuildOptions): number {
  return Math.ceil(deadlineMs / 1000);
}

function podSpec(options: GitBuildOptions, { podSpec: more, container }: JobParts) {
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

/** Where the node's directory is in the containers of Jobs. */
const MOUNT_PATH = '/opt';

/**
 * Builds: clone, go there, run the command, copy what it left. It is the same for every build: values come from the
 * environment, quoted, behind `--`, so that of all of them only BUILD_COMMAND is ever read as code. It has no `$(`
 * and no `$$`, which the kubelet would read before bash does.
 *
 * As process 1, bash would ignore SIGTERM and copy the binary after its Job was deleted. It handles the signal only
 * while it waits, so what takes long runs in the background.
 *
 * An old binary is removed before the copy, which thus never writes through a link or into a running file.
 *
 * @param into the directory that the binary is copied to
 */
export function buildScript(into = MOUNT_PATH): string {
  return `set -euo pipefail
trap 'exit 143' TERM
run() {
  "$@" &
  wait "$!"
}
run git clone -- "$GIT_URL" "$CLONE_PATH"
cd -- "$CLONE_PATH"
run bash -ec -- "$BUILD_COMMAND"
cp --no-target-directory --remove-destination -- "./$BINARY_NAME" "${into}/$BINARY_NAME"
`;
}

/**
 * Removes the binaries that its arguments name. One that is not there counts as removed; a directory of that name is
 * the node's own, since a build cannot have replaced it.
 */
export function cleanupScript(from = MOUNT_PATH): string {
  return `set -euo pipefail
cd -- "${from}"
for name in "$@"; do
  if [[ -L "./$name" || ! -d "./$name" ]]; then rm -f -- "./$name"; fi
done
`;
}

/**
 * What reads as `text` once the kubelet has expanded `$(NAME)` in it: `$$` is its way to write `$`.
 * Source: kubernetes/third_party/forked/golang/expansion, and the API reference of Container.
 */
export function unexpanded(text: string): string {
  return text.replaceAll('$', '$$$$');
}
