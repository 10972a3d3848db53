import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Where to look, and words that are there: the title of a test, or the code. */
type Proof = readonly [file: string, words: string];

/** What SECURITY.md claims, in its words, and what proves it. */
const CLAIMS: readonly (readonly [claim: string, ...proofs: readonly Proof[]])[] = [
  // Releases
  [
    '`install.yaml` and the chart name that digest',
    ['test/releasing.integration.ts', 'is installed by its digest, by the manifest as by the chart'],
  ],
  ['the SHA-256 of every file', ['test/releasing.integration.ts', 'has a checksum of every file']],
  [
    'are signed by the workflow',
    ['.github/workflows/release.yml', 'cosign sign --yes "$IMAGE"'],
    ['.github/workflows/release.yml', 'cosign sign-blob'],
    ['test/release-workflow.test.ts', 'asks whether the chart has been pushed'],
  ],
  ['have an attestation', ['.github/workflows/release.yml', 'subject-checksums: dist/release/checksums.txt']],
  ['has a bill of materials attached', ['.github/workflows/release.yml', 'sbom: true']],
  ['pinned by commit', ['test/supply-chain.test.ts', 'use actions by commit only']],
  // Assets, data flow
  [
    'cuts or hashes long texts',
    ['test/watcher/projection.test.ts', 'is little, whatever the object holds'],
    ['test/kubernetes/pages.test.ts', 'in pages of at most 4 MiB'],
    ['test/e2e/large-objects.integration.ts', 'serves other namespaces, also after a restart'],
  ],
  ['it can write Pods, Jobs and RoleBindings', ['test/deploy.test.ts', 'so its role has these rules']],
  [
    'a wrong one gives a team access to the namespace of another team',
    ['src/controllers/namespace-role-binding/decide.ts', "kind: 'Group', name"],
  ],
  ["it is part of the host's filesystem", ['src/controllers/git-build/jobs.ts', 'hostPath']],
  [
    'whoever has it can start, terminate and answer runs',
    ['test/watcher/watcher.test.ts', 'a run that was terminated by hand'],
  ],
  [
    'reasons, results and error messages',
    ['test/e2e/encryption.integration.ts', 'what a run is told, does and fails by is readable neither'],
  ],
  [
    'while it is down, nothing is reconciled',
    ['docs/operating.md', 'The operator then writes nothing; open runs wait in Temporal'],
  ],
  [
    'The diagram shows what [deploy/base](deploy/base/) installs',
    ['deploy/manager/deployment.yaml', '--metrics-secure'],
  ],
  // Resources
  [
    'The script gets these values as environment variables',
    [
      'test/controllers/git-build/jobs.test.ts',
      'has the values of its spec in its environment, and none in its command',
    ],
  ],
  [
    'the operator validates them again',
    ['test/controllers/git-build/spec.test.ts', 'tells all that is wrong at once'],
  ],
  ['The schema rejects values', ['test/crd.integration.ts', 'of an Xxx, admission refuses']],
  [
    'for submodules and redirects as well',
    [
      'test/controllers/git-build/script.test.ts',
      'lets git use no other transport than those that are allowed',
    ],
  ],
  [
    'has the UID of the PodSet, and adopts',
    ['test/e2e/pod-set.integration.ts', 'adopts a Pod with its labels that nobody controls'],
  ],
  [
    'have the UID of the Xxx in a label',
    ['test/controllers/git-build/controller.test.ts', 'leaves out the Job of another build of the same name'],
  ],
  [
    "have its name and the operator's label",
    [
      'test/controllers/namespace-role-binding.test.ts',
      'to restore what is ours, and to refuse what is foreign',
    ],
  ],
  [
    'Deletes carry the UID',
    ['test/activities/pod-set.test.ts', 'deletes those that are too many, by UID'],
    ['test/activities/git-build.test.ts', 'deletes a Job only as it was read'],
  ],
  [
    'the run waits for a change of the resource, without a timer',
    ['test/workflows/one-step.integration.ts', 'waits without a timer and without an activity'],
  ],
  [
    'does not delay others',
    ['test/watcher/ready-queue.test.ts', 'lets controllers and namespaces take turns'],
  ],
  [
    '`pod-label` reads only the metadata of Pods',
    ['test/e2e/faults.integration.ts', 'is never asked for more of a pod than its metadata'],
  ],
  [
    'What looks like a credential is removed from logs',
    ['test/logging.test.ts', 'a credential never reaches the log'],
  ],
  [
    'Bind `xxx-editor-role` only to people whom you trust with the nodes',
    ['test/deploy.test.ts', 'Whoever may edit a namespace must not become root on nodes by it'],
  ],
  [
    'A password in `gitUrl` is in the spec of the Xxx, and in the environment of its Job',
    ['src/controllers/git-build/jobs.ts', 'GIT_URL: spec.gitUrl'],
  ],
  [
    "**even the operator's own**",
    ['src/config/options.ts', "default: 'kube-system,kube-public,kube-node-lease'"],
  ],
  // The operator's Pod
  [
    'with a read-only root filesystem, and without capabilities',
    ['test/deploy/installing.integration.ts', 'has Pods that Pod Security "restricted" admits'],
  ],
  [
    'the watcher can write nothing but Leases in its own namespace',
    ['test/e2e/credentials.integration.ts', 'write Leases where the operator is, and nowhere else'],
  ],
  [
    '`bind` is limited to a single ClusterRole by name',
    ['test/deploy.test.ts', 'nor to bind a role that is not named'],
  ],
  [
    'So `answered-by` names the user whose request it was',
    ['test/e2e/approval-policy.integration.ts', "of another's approval, %s"],
    ['test/e2e/approval-policy.integration.ts', 'an answer names whose request it was'],
    ['test/e2e/approval-policy.integration.ts', "approve in another's name"],
    ['test/e2e/approval-policy.integration.ts', 'answer for another by %s'],
  ],
  [
    "The operator's account can neither approve nor reject",
    ['test/e2e/approval-policy.integration.ts', 'approve in the name of a person'],
  ],
  [
    'whoever removes a rejection approves nothing',
    ['test/e2e/approval-policy.integration.ts', 'nobody approves by removing a rejection'],
    [
      'test/controllers/control/approval.test.ts',
      'stays held where a rejection of %s is beside the approval',
    ],
  ],
  [
    'The account cannot change the policies',
    ['test/e2e/role-binding-policy.integration.ts', 'may not change or remove $what'],
  ],
  [
    'It cannot change their image, nor anything else',
    ['test/e2e/pod-policy.integration.ts', 'change the image by %s'],
    [
      'test/deploy/admission-policies.integration.ts',
      'by the chart, for pod-label alone, may write the label of Pods, and nothing else',
    ],
  ],
  [
    '`pod-set` can create Pods, and `git-build` Jobs',
    ['test/e2e/credentials.integration.ts', 'runs what they want in new ones'],
  ],
  [
    'Then the attacker has these namespaces',
    ['test/e2e/namespaced.integration.ts', 'asks for nothing elsewhere'],
  ],
  [
    'with the permissions of no other controller',
    ['test/deploy/installing.integration.ts', 'gives only what the chosen controllers need'],
  ],
  // Temporal
  [
    'The names of resources, steps and times remain readable',
    ['docs/encryption.md', 'names of workflows, activities'],
  ],
  [
    "A run reconciles its resource to the resource's own spec, based on live state",
    ['test/activities/reconcile.test.ts', 'is confirmed before it is performed'],
  ],
  [
    'The watcher starts a new run within a minute',
    ['test/watcher/watcher.test.ts', 'is started again within a minute'],
  ],
  [
    'an activity only performs the step that it decides on itself',
    [
      'test/activities/reconcile.test.ts',
      'whose decision names another step writes nothing and returns that step',
    ],
  ],
  [
    'Runs contain no token, key or Secret',
    ['test/e2e/secrets.integration.ts', 'is in the history of no run'],
  ],
  [
    "the connection is not encrypted, which is Temporal's own default",
    ['test/temporal/connection.integration.ts', 'that is asked without TLS is waited for'],
  ],
  // Network
  [
    'unless a kubeconfig has `insecure-skip-tls-verify: true`',
    ['test/kubernetes/sessions.test.ts', 'trusts anyone only where told to'],
    ['src/kubernetes/config.ts', "protocol === 'http:' && !skipTlsVerify"],
  ],
  [
    'and then always verify its certificate',
    ['test/temporal/connection.integration.ts', 'of an unknown authority is waited for'],
  ],
  [
    'checked with a TokenReview and a SubjectAccessReview',
    [
      'test/e2e/installed.integration.ts',
      'let metrics be read by whom metrics-reader is bound to, and by nobody else',
    ],
  ],
  [
    'which `overlays/namespaced` leaves out',
    ['deploy/overlays/namespaced/operator/deployment.yaml', 'Metrics are plain'],
  ],
  ['never of reconciled objects', ['test/observability/metrics.test.ts', 'without the name of the object']],
  [
    'At most 8 reviews run concurrently, and their results are cached for a minute',
    ['src/observability/metrics-access.ts', 'REVIEWS_AT_ONCE_MAX = 8'],
    ['src/observability/metrics-access.ts', 'CACHE_TTL_MS = 60_000'],
  ],
  [
    'but no credentials. The NetworkPolicy lets nobody reach port 9098',
    ['test/e2e/secrets.integration.ts', 'is in no answer about health'],
    ['deploy/common/network_policy.yaml', '- port: 9097'],
  ],
  [
    'It listens on loopback and rejects requests from pages of other origins',
    ['test/temporal/codec-server.test.ts', "'https://evil.example'"],
  ],
  [
    'Requests from pages of other origins get 403',
    ['test/temporal/codec-server.test.ts', "'https://evil.example'"],
  ],
  [
    'generates a self-signed certificate when it starts',
    ['test/observability/metrics-server.test.ts', 'makes a certificate for localhost if it has none'],
  ],
  // Dependencies
  [
    'Dependencies have exact versions, and hashes in `package-lock.json`',
    ['test/supply-chain.test.ts', 'names exact versions'],
    ['test/supply-chain.test.ts', 'has the hash of every package'],
  ],
  ['built without their install scripts', ['test/image.test.ts', 'lets no package run an install script']],
  ['pinned by `go.sum`', ['tools/README.md', '`go.sum` their checksums']],
  [
    'fails on high and critical ones',
    ['.ci/audit.js', '--audit-level=high'],
    ['.ci/audit.js', 'NOT CHECKED'],
  ],
  [
    '[.ci/run](.ci/run) runs both',
    ['.ci/run', 'npm run --silent audit'],
    ['.ci/run', 'npm run --silent sbom'],
  ],
  // Credentials
  [
    'do what `watcher` and `worker` can',
    ['test/deploy.test.ts', 'so both together are allowed what the one process is'],
  ],
  ['create and delete Pods and Jobs', ['test/e2e/credentials.integration.ts', 'in any namespace']],
  [
    'read all Pods, Jobs, RoleBindings, Namespaces, PodSets and Xxxes',
    ['test/e2e/credentials.integration.ts', 'READING'],
  ],
  ['and a forged refusal in its status', ['activities/reconcile.ts', 'refusal']],
  ['decrypt what Temporal stores, and forge it', ['docs/encryption.md', 'All keys decrypt']],
  ['do anything else by that role', ['deploy/rbac/metrics_reader.yaml', '- /metrics']],
  [
    'pose as the operator to Prometheus, and so get its bearer token',
    ['test/e2e/installed.integration.ts', 'with the token of its service account'],
  ],
  [
    'traces name resources and steps',
    ['test/e2e/observability.integration.ts', 'and shows the start, the step and its write'],
  ],
  [
    'The policies are about service accounts only',
    ['deploy/rbac/admission-policy.ts', "subject.kind == 'ServiceAccount'"],
  ],
  [
    'Both listen on loopback; etcd and Temporal ask for no credentials',
    ['local/stack-folder.ts', 'http://${LOOPBACK}'],
    ['local/server-commands.ts', "'--ip', LOOPBACK"],
  ],
  // Rotation
  [
    'reread regularly, and after a 401',
    ['test/kubernetes/sessions.test.ts', 'is read again where its token is rejected'],
  ],
  [
    'files that it names and its plugin: as above; the rest: restart',
    [
      'test/kubernetes/sessions.test.ts',
      'shows a client certificate, and after its rotation the new one on new connections',
    ],
  ],
  [
    'variable: restart; profile: as certificates',
    ['test/config/temporal-rotation.test.ts', 'the configuration of Temporal'],
  ],
  [
    'the process ends within a minute, and Kubernetes starts it again',
    ['test/config/temporal-rotation.test.ts', 'has changed once a certificate was rotated'],
  ],
  [
    'reread at the next connection',
    [
      'test/observability/metrics-server.test.ts',
      'is the new one for connections made after the files changed',
    ],
  ],
  [
    'restart; see [Rotate keys]',
    ['docs/encryption.md', 'The operator reads the file when it starts; restart it after a change'],
  ],
  ['`OTEL_EXPORTER_OTLP_HEADERS` | restart', ['src/observability/traces.ts', 'OTLP']],
  [
    'searches for them in debug logs, histories, Events, statuses, metrics, traces and health checks',
    ['test/e2e/secrets.integration.ts', 'is in no log line'],
  ],
];

/** What there is nothing to prove of: how we work, what others do, and advice. They begin with these words. */
const UNPROVEN = [
  'Please report vulnerabilities privately',
  'Only the newest minor version gets fixes',
  // About Kubernetes: its pages "Managing Service Accounts" and "Role Based Access Control Good Practices".
  'The token of a Pod is bound to it',
  'Have a policy of your cluster limit',
  'Protect Temporal like the API server',
  'What somebody can do who has it',
];

/** The paragraphs, list items and rows of tables that say something. */
function statements(): readonly string[] {
  const text = read('SECURITY.md').replaceAll(/^```.*?^```$/gms, '');
  return text
    .split(/\n\n|\n(?=\||- )/)
    .map((block) => block.replace(/^- /, '').replaceAll(/\s+/g, ' ').trim())
    .filter(
      (block) =>
        block !== '' && !block.startsWith('#') && !/^\|[ -]*\|[ -|]*$/.test(block) && !isHeader(block),
    );
}

function isHeader(row: string): boolean {
  return /^\| (asset|attack|credential) /.test(row);
}

const all = statements();
const flat = all.join('\n');

describe('SECURITY.md', () => {
  it.each(CLAIMS)('says %s', (claim) => {
    expect(flat).toContain(claim);
  });

  it.each(CLAIMS)('has a proof that is there: %s', (_claim, ...proofs) => {
    expect(proofs.filter(([file, words]) => !read(file).includes(words))).toEqual([]);
  });

  it('says nothing else', () => {
    const isKnown = (statement: string) =>
      CLAIMS.some(([claim]) => statement.includes(claim)) ||
      UNPROVEN.some((words) => statement.startsWith(words));
    expect(all.filter((statement) => !isKnown(statement))).toEqual([]);
  });
});
