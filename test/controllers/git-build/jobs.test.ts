import { describe, expect, it } from '@jest/globals';
import { buildJob, cleanupJob } from '../../../src/controllers/git-build/jobs.ts';
import { jobView } from '../../../src/controllers/git-build/views.ts';
import { specHash } from '../../../src/controllers/git-build/spec.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';

const OWNER = { namespace: 'shop', name: 'sample', uid: 'uid-1' };
const HASH = specHash(SAMPLE);
const wanted = { spec: SAMPLE, hash: HASH };
const cleanup = {
  jobName: 'build-helloworld-delete',
  node: 'node-1',
  binaries: ['helloworld', 'old'],
};

const built = (spec = SAMPLE, options = BUILD_DEFAULTS) => buildJob(OWNER, { spec, hash: HASH }, options);
const jobs = [
  ['build', buildJob(OWNER, wanted, BUILD_DEFAULTS)],
  ['cleanup', cleanupJob(OWNER, cleanup, BUILD_DEFAULTS)],
] as const;

const asStored = (job: object, name: string) =>
  jobView({ ...job, metadata: { ...metadataOf(job), name, uid: 'job-uid', resourceVersion: '7' } });
const metadataOf = (job: object) =>
  'metadata' in job && typeof job.metadata === 'object' ? job.metadata : {};

describe('every Job', () => {
  it.each(jobs)('of a %s may do nothing but its work', (_, { spec }) => {
    const { template, ...limits } = spec;
    expect(limits).toMatchObject({ backoffLimit: 2, activeDeadlineSeconds: 3600 });
    expect(template.spec).toMatchObject({
      restartPolicy: 'Never',
      activeDeadlineSeconds: 3600,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(template.spec.containers).toEqual([
      expect.objectContaining({
        image: 'golang:1.13',
        terminationMessagePolicy: 'FallbackToLogsOnError',
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'host', mountPath: '/opt' }],
      }),
    ]);
    expect(template.spec.volumes).toEqual([
      { name: 'host', hostPath: { path: '/opt', type: 'DirectoryOrCreate' } },
    ]);
  });

  it.each(jobs)('of a %s is known by its labels, and so are its Pods', (purpose, { metadata, spec }) => {
    const labels = {
      'app.kubernetes.io/managed-by': 'durable-operator',
      'durable-operator.dev/build-uid': 'uid-1',
      'durable-operator.dev/job': purpose,
    };
    expect(metadata.labels).toEqual(labels);
    expect(spec.template.metadata.labels).toEqual(labels);
    expect(metadata.annotations['durable-operator.dev/build-name']).toBe('sample');
    expect(spec.template.metadata.annotations).toEqual(metadata.annotations);
  });

  it('has the image, the directory and the deadline that the options say', () => {
    const options = { ...BUILD_DEFAULTS, buildImage: 'go:2', buildHostDir: '/srv', buildDeadline: 1_500 };
    const { spec } = built(SAMPLE, options);
    expect(spec.activeDeadlineSeconds).toBe(2);
    expect(spec.template.spec.containers[0]?.image).toBe('go:2');
    expect(spec.template.spec.volumes[0]?.hostPath.path).toBe('/srv');
  });
});

describe('the Job of a build', () => {
  const envOf = (job: ReturnType<typeof buildJob>): unknown =>
    Object.fromEntries(
      job.spec.template.spec.containers.flatMap((container) =>
        'env' in container && Array.isArray(container.env)
          ? container.env.map(({ name, value }: { name: string; value: string }) => [name, value])
          : [],
      ),
    );

  it('has the values of its spec in its environment, and none in its command', () => {
    expect(envOf(built())).toEqual({
      GIT_URL: SAMPLE.gitUrl,
      CLONE_PATH: SAMPLE.clonePath,
      BUILD_COMMAND: SAMPLE.buildCommand,
      BINARY_NAME: SAMPLE.binaryName,
      GIT_ALLOW_PROTOCOL: 'https:ssh',
      GIT_TERMINAL_PROMPT: '0',
    });
    const other = built({ ...SAMPLE, gitUrl: 'https://example.com/x', binaryName: 'b', buildCommand: 'c' });
    const commandOf = ({ spec }: ReturnType<typeof buildJob>) =>
      spec.template.spec.containers.map((container) => 'command' in container && container.command);
    expect(commandOf(other)).toEqual(commandOf(built()));
  });

  it('has what the kubelet would expand written so that it does not', () => {
    expect(envOf(built({ ...SAMPLE, buildCommand: 'echo $(GIT_URL) $$' }))).toMatchObject({
      BUILD_COMMAND: 'echo $$(GIT_URL) $$$$',
    });
  });

  it('belongs to its resource, without holding up its deletion', () => {
    expect(built().metadata).toMatchObject({
      name: 'build-helloworld',
      namespace: 'shop',
      ownerReferences: [
        {
          apiVersion: 'test.inspur.com/v1alpha1',
          kind: 'Xxx',
          name: 'sample',
          uid: 'uid-1',
          controller: true,
        },
      ],
    });
    expect(JSON.stringify(built())).not.toContain('blockOwnerDeletion');
  });

  it('starts no Pod while another still ends', () => {
    expect(built().spec).toMatchObject({ podReplacementPolicy: 'Failed' });
  });

  it('is read as what was written', () => {
    expect(asStored(built(), 'build-helloworld')).toMatchObject({
      buildUid: 'uid-1',
      buildName: 'sample',
      purpose: 'build',
      hash: HASH,
      state: 'active',
      deleting: false,
    });
  });
});

describe('the Job of a cleanup', () => {
  const job = cleanupJob(OWNER, cleanup, BUILD_DEFAULTS);

  it('has no owner, which would take it along in foreground deletion, and goes by itself', () => {
    expect(job.metadata.ownerReferences).toEqual([]);
    expect(job.spec).toMatchObject({ ttlSecondsAfterFinished: 600 });
  });

  it('runs on its node and nowhere else, whatever keeps others from there', () => {
    expect(job.spec.template.spec).toMatchObject({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }] },
            ],
          },
        },
      },
      tolerations: [{ operator: 'Exists' }],
    });
  });

  it('is given what to remove as arguments', () => {
    const [container] = job.spec.template.spec.containers;
    expect(container).toMatchObject({
      command: ['bash', '-c', expect.any(String), 'cleanup', 'helloworld', 'old'],
    });
  });

  it('is read as what was written', () => {
    expect(asStored(job, cleanup.jobName)).toMatchObject({
      purpose: 'cleanup',
      node: 'node-1',
      binaries: ['helloworld', 'old'],
    });
  });
});
