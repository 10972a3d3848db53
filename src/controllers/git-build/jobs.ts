import { MANAGED_BY_LABEL, type Identity, type OwnerReference } from '../../api/index.ts';
import {
  BINARIES_ANNOTATION,
  BINARY_NAME_ANNOTATION,
  BUILD_KIND,
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  CLEANUP_SUFFIX,
  BUILD_MANAGER,
  NODE_ANNOTATION,
  PURPOSE_LABEL,
  SPEC_HASH_ANNOTATION,
  type BuildSpec,
  type JobPurpose,
} from './kind.ts';
import type { GitBuildOptions } from './options.ts';

/** The resource that a Job is for. */
type JobOwner = Pick<Identity, 'namespace' | 'name' | 'uid'>;

interface BuildJobSpec {
  readonly spec: BuildSpec;
  readonly hash: string;
}

export interface CleanupJobSpec {
  /** Of the cleanup Job. */
  readonly jobName: string;
  readonly node: string;
  readonly binaries: readonly string[];
}

/** How often a failed Pod is replaced before its Job fails. */
const BACKOFF_LIMIT = 2;
/** Long enough for people to read the logs of a failed cleanup, and longer than the pause before the next. */
const CLEANUP_TTL_SECONDS = 600;

export function cleanupJobName(jobName: string): string {
  return jobName + CLEANUP_SUFFIX;
}

/** The Job that builds a spec, and copies the binary to the host directory of its node. */
export function buildJob(owner: JobOwner, { spec, hash }: BuildJobSpec, options: GitBuildOptions) {
  const annotations = { [SPEC_HASH_ANNOTATION]: hash, [BINARY_NAME_ANNOTATION]: spec.binaryName };
  const env = {
    GIT_URL: spec.gitUrl,
    CLONE_PATH: spec.clonePath,
    BUILD_COMMAND: spec.buildCommand,
    BINARY_NAME: spec.binaryName,
    // Limits redirects and submodules, too: git(1), GIT_ALLOW_PROTOCOL.
    GIT_ALLOW_PROTOCOL: options.buildGitTransports.join(':'),
    GIT_TERMINAL_PROMPT: '0',
  };
  const { uid, name } = owner;
  return job(owner, options, {
    name: spec.jobName,
    purpose: 'build',
    annotations,
    // No `blockOwnerDeletion`: it needs more permissions, and the finalizer already delays the deletion.
    ownerReferences: [{ ...BUILD_KIND, name, uid, controller: true }],
    // A terminating Pod may still copy, so the next one waits until it is gone.
    jobSpec: { podReplacementPolicy: 'Failed' },
    podSpec: { nodeSelector: { 'kubernetes.io/os': 'linux' } },
    container: {
      name: 'build',
      command: ['bash', '-c', buildScript()],
      env: Object.entries(env).map(([key, value]) => ({ name: key, value: unexpanded(value) })),
    },
  });
}

/**
 * The Job that removes binaries from one node. It has no owner: if its build is deleted in the foreground, the garbage
 * collector would delete it before it has run.
 */
export function cleanupJob(owner: JobOwner, cleanup: CleanupJobSpec, options: GitBuildOptions) {
  const { jobName, node, binaries } = cleanup;
  return job(owner, options, {
    name: jobName,
    purpose: 'cleanup',
    annotations: { [NODE_ANNOTATION]: node, [BINARIES_ANNOTATION]: binaries.join(',') },
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
  readonly ownerReferences: readonly OwnerReference[];
  readonly jobSpec: object;
  readonly podSpec: object;
  readonly container: object;
}

function job({ namespace, name, uid }: JobOwner, options: GitBuildOptions, parts: JobParts) {
  const labels = {
    [MANAGED_BY_LABEL]: BUILD_MANAGER,
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
      // Whose node was shut down, or that made room for others, has not failed.
      podFailurePolicy: {
        rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
      ...parts.jobSpec,
      template: { metadata: { labels, annotations }, spec: podSpec(options, parts) },
    },
  };
}

function deadlineSeconds({ buildDeadline }: GitBuildOptions): number {
  return Math.ceil(buildDeadline / 1000);
}

function podSpec(options: GitBuildOptions, { podSpec: more, container }: JobParts) {
  const { buildImage: image, buildHostDir: hostDir } = options;
  return {
    restartPolicy: 'Never',
    // The deadline of a Job does not end its Pods once the Job is deleted.
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
        // Root needs no capability to write to a directory of its own.
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'host', mountPath: MOUNT_PATH }],
      },
    ],
    volumes: [{ name: 'host', hostPath: { path: hostDir, type: 'DirectoryOrCreate' } }],
  };
}

/** By name: the hostname label may differ from it. Source: the Kubernetes docs of NodeSelectorTerm. */
function onlyOn(node: string) {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}

/** Where the containers mount the node's directory. */
const MOUNT_PATH = '/opt';

/**
 * Clones, builds, and copies the binary. The script is the same for every build. Values come from the environment, quoted
 * and after `--`, so only BUILD_COMMAND is read as code. The script has no `$(` and no `$$`, which the kubelet would
 * expand.
 *
 * As process 1, bash ignores SIGTERM, and would copy the binary after its Job was deleted. It handles the signal only while
 * it waits, so long commands run in the background.
 *
 * The copy first removes an old binary, so it never writes through a link or into a running file.
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
 * Removes the binaries that its arguments name. A missing one counts as removed. A directory of that name is left alone: no
 * build has created it.
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
 * Escapes `text` for the kubelet, which expands `$(NAME)` and reads `$$` as `$`.
 * Source: kubernetes/third_party/forked/golang/expansion, and the API reference of Container.
 */
export function unexpanded(text: string): string {
  return text.replaceAll('$', '$$$$');
}
