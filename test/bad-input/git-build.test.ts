import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { posix } from 'node:path';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../src/controllers/kinds.ts';
import { fieldsOf } from '../../src/controllers/fields.ts';
import { gitBuild } from '../../src/controllers/git-build/controller.ts';
import { buildJob, buildScript, cleanupJob, cleanupScript } from '../../src/controllers/git-build/jobs.ts';
import type { Observation } from '../../src/controllers/git-build/observation.ts';
import * as names from '../../src/controllers/git-build/resource.ts';
import { checkSpec, FORBIDDEN_CLONE_ROOTS } from '../../src/controllers/git-build/spec.ts';
import { buildView, jobView, podView } from '../../src/controllers/git-build/views.ts';
import { faultsOf, propertyOf } from '../support/bad-input/schema.ts';
import { patched, stored } from '../support/bad-input/stored.ts';
import { anyOf, goodOf, runs } from '../support/bad-input/values.ts';
import {
  BUILD_SPEC,
  BUILD_STATUS,
  BUILD_UID,
  isBeyondAdmission,
  oddBuildWorld,
  settled,
} from '../support/bad-input/worlds.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../support/builds.ts';

const OPTIONS = { ...BUILD_DEFAULTS, hostDir: '/srv/bin' };

/** The sample with one field, or all of them, of any kind. */
const specs = fc.oneof(
  { weight: 6, arbitrary: withOneOf(SAMPLE) },
  { weight: 2, arbitrary: anyOf(BUILD_SPEC) },
  { weight: 1, arbitrary: fc.anything() },
);

function withOneOf(spec: object): fc.Arbitrary<object> {
  const each = Object.keys(spec).map((field) =>
    anyOf(propertyOf(BUILD_SPEC, field)).map((value) => ({ ...spec, [field]: value })),
  );
  return fc.oneof(...each);
}

const goodSpecs = goodOf(BUILD_SPEC).map((spec) => checkSpec({ ...SAMPLE, ...fieldsOf(spec) }, OPTIONS));

describe('the check of a spec before use', () => {
  it('agrees with admission, but for what admission cannot know', () => {
    const verdicts = { good: 0, bad: 0 };
    fc.assert(
      fc.property(specs, (spec) => {
        const faults = faultsOf(BUILD_SPEC, spec);
        const checked = checkSpec(spec, OPTIONS);
        const problems = checked.ok ? [] : checked.problems;
        verdicts[checked.ok ? 'good' : 'bad'] += 1;
        if (faults.length > 0) expect(problems).not.toEqual([]);
        else expect(problems.filter((each) => !isBeyondAdmission(each))).toEqual([]);
      }),
      runs(600),
    );
    expect(Math.min(verdicts.good, verdicts.bad)).toBeGreaterThan(30);
  });

  it('says what is wrong with which field, on one line, and never quotes what it was given', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        const checked = checkSpec(spec, OPTIONS);
        for (const problem of checked.ok ? [] : checked.problems) {
          expect(problem).toMatch(/^spec\.(gitUrl|clonePath|buildCommand|binaryName|jobName) [\x20-\x7e]+$/);
          expect(problem.length).toBeLessThan(250);
        }
      }),
      runs(250),
    );
  });
});

/** What the kubelet makes of a value. Source: kubernetes/third_party/forked/golang/expansion. */
function expanded(value: string): string {
  return value.replace(/\$(\$|\(([^)]*)\))/g, (_, what: string) => (what === '$' ? '$' : 'EXPANDED'));
}

interface Container {
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

function containerOf(job: ReturnType<typeof buildJob>): Container {
  const [container] = job.spec.template.spec.containers;
  return container as unknown as Container;
}

describe('the Job of any spec that is used', () => {
  it('runs the same script, to which the spec comes by the environment as it is', () => {
    fc.assert(
      fc.property(goodSpecs, (checked) => {
        if (!checked.ok) return;
        const { spec, hash } = checked;
        const owner = { namespace: 'shop', name: 'sample', uid: 'u' };
        const { command, env = [] } = containerOf(buildJob(owner, { spec, hash }, OPTIONS));
        expect(command).toEqual(['bash', '-c', buildScript()]);
        const values = Object.fromEntries(env.map(({ name, value }) => [name, expanded(value)]));
        expect(values).toMatchObject({
          GIT_URL: spec.gitUrl,
          CLONE_PATH: spec.clonePath,
          BUILD_COMMAND: spec.buildCommand,
          BINARY_NAME: spec.binaryName,
        });
      }),
      runs(300),
    );
  });

  it('has no value that git or coreutils take for an option, or for a place outside', () => {
    fc.assert(
      fc.property(goodSpecs, (checked) => {
        if (!checked.ok) return;
        const { gitUrl, clonePath, binaryName, jobName } = checked.spec;
        for (const value of [gitUrl, clonePath, binaryName, jobName]) {
          expect(value).not.toMatch(/^-|[\s\0$`"'\\;|<>(){}*]/);
        }
        // gitremote-helpers(7): `<transport>::<address>` runs a program.
        expect(gitUrl).not.toContain('::');
        expect(gitUrl).toMatch(/^(https|ssh):\/\/[^-]|^[^/-][^/]*:[^-]/i);
        expect(posix.normalize(clonePath)).toBe(clonePath);
        for (const root of [...FORBIDDEN_CLONE_ROOTS, '/srv/bin', '/']) {
          expect(posix.relative(root, clonePath)).toMatch(root === '/' ? /^[^.]|^\.+[^/.]/ : /^\.\.\//);
        }
        expect(posix.dirname(posix.join('/opt', binaryName))).toBe('/opt');
        expect(posix.basename(posix.join('/opt', binaryName))).toBe(binaryName);
        expect(`${jobName}-delete`.length).toBeLessThanOrEqual(63);
      }),
      runs(250),
    );
  });

  it('has a cleanup that takes names for names', () => {
    fc.assert(
      fc.property(fc.array(goodOf(propertyOf(BUILD_SPEC, 'binaryName')), { minLength: 1 }), (some) => {
        const binaries = some.map(String);
        const cleanup = { jobName: 'x-delete', node: 'n1', binaries };
        const { command } = containerOf(
          cleanupJob({ namespace: 'a', name: 'b', uid: 'u' }, cleanup, OPTIONS),
        );
        expect(command.slice(0, 4)).toEqual(['bash', '-c', cleanupScript(), 'cleanup']);
        expect(command.slice(4).map(expanded)).toEqual(binaries);
      }),
      runs(100),
    );
  });
});

const controller = gitBuild(OPTIONS);
const META = {
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
};

/** What an API server lets annotations and labels be; for the names that are read, and others. */
function textsFor(keys: readonly string[]): fc.Arbitrary<Readonly<Record<string, string>>> {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', 'true', 'True', '../x', '-rf', 'a,b', '-1', '1e999', '0', 'x'.repeat(2 ** 18), '\0'),
    fc.constantFrom(MANAGED_BY, 'build', 'cleanup', BUILD_UID, 'sample', 'helloworld', 'n1'),
  );
  const fields = keys.map((key): [string, fc.Arbitrary<string>] => [key, texts]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] }).map(withoutUndefined);
}

const ANNOTATIONS = [
  names.SKIP_CLEANUP_ANNOTATION,
  names.BUILD_NAME_ANNOTATION,
  names.SPEC_HASH_ANNOTATION,
  names.BINARY_NAME_ANNOTATION,
  names.NODE_ANNOTATION,
  names.BINARIES_ANNOTATION,
];
const LABELS = [names.BUILD_UID_LABEL, names.PURPOSE_LABEL, MANAGED_BY_LABEL];
const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown', ''];

/** Long, and of characters that take two places in JavaScript, from the first or from the second on. */
const longTexts = fc
  .tuple(
    fc.constantFrom('', 'a'),
    fc.constantFrom('😀', 'e\u0301', 'x', '\n'),
    fc.constantFrom(1, 900, 40_000),
  )
  .map(([start, part, count]) => start + part.repeat(count));
const containers = fc.record({
  image: longTexts,
  state: fc.oneof(
    fc.record({ terminated: fc.record({ exitCode: fc.integer(), reason: longTexts, message: longTexts }) }),
    fc.record({ waiting: fc.record({ reason: fc.constantFrom('ErrImagePull', 'RunContainerError', 'x') }) }),
    fc.anything(),
  ),
});
const ends = fc.record({
  type: fc.constantFrom('Failed', 'Complete', 'PodScheduled'),
  status: fc.constantFrom('True', 'False'),
  reason: fc.constantFrom('DeadlineExceeded', 'BackoffLimitExceeded', 'Unschedulable'),
  message: longTexts,
  lastTransitionTime: fc.constantFrom('2026-01-01T00:00:00Z', '9999-12-31T23:59:59Z'),
});

const objects = fc.record({
  metadata: fc.record({
    name: fc.constantFrom('sample', 'x'.repeat(253)),
    annotations: textsFor(ANNOTATIONS),
    labels: textsFor(LABELS),
  }),
  spec: fc.oneof(specs, fc.record({ nodeName: fc.anything() })),
  status: fc.oneof(
    anyOf(BUILD_STATUS),
    fc.record({ phase: fc.constantFrom(...PHASES), conditions: fc.anything() }),
    fc.record({
      phase: fc.constantFrom(...PHASES),
      containerStatuses: fc.array(containers, { maxLength: 2 }),
    }),
    fc.record({ conditions: fc.array(ends, { maxLength: 2 }) }),
    fc.anything(),
  ),
});

describe('whatever a build, a Job or a Pod holds', () => {
  it('it is viewed and decided on without an error', () => {
    fc.assert(
      fc.property(objects, fc.array(objects, { maxLength: 3 }), fc.boolean(), (build, others, deleting) => {
        const deletion = deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
        const metadata = { ...build.metadata, ...META, ...deletion };
        const view = buildView({ ...build, metadata }, OPTIONS);
        const children = others.flatMap((other) => {
          const object = { ...other, metadata: { ...other.metadata, ...META } };
          return [jobView(object), podView(object)].filter((child) => child !== undefined);
        });
        const observation = controller.observation(view, children);
        for (const seen of [observation, withFreeNames(observation)]) {
          const decision = controller.decide(seen, Date.now());
          expect(
            controller.steps.concat([]).map(String).concat('observe', 'wait', 'stalled', 'converged'),
          ).toContain(decision.do);
          if (faultsOf(BUILD_SPEC, build.spec).length > 0) expect(decision.do).not.toBe('createJob');
        }
        controller.inputs?.(observation);
      }),
      runs(200),
    );
  });

  it('its status is written once for each thing that there is to say', () => {
    fc.assert(
      fc.property(objects, fc.array(objects, { maxLength: 3 }), fc.boolean(), (build, others, deleting) => {
        const deletion = deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
        const metadata = { ...build.metadata, ...META, ...deletion, finalizers: [names.BUILD_FINALIZER] };
        const children = others.flatMap((other, place) => {
          const labels = { ...other.metadata.labels, [names.BUILD_UID_LABEL]: META.uid };
          const object = { ...other, metadata: { ...other.metadata, ...META, uid: String(place), labels } };
          return [jobView(object), podView(object)].filter((child) => child !== undefined);
        });
        let status: object = stored(fieldsOf(build.status));
        const said: string[] = [];
        for (;;) {
          const view = buildView({ ...build, metadata, status }, OPTIONS);
          const live = withFreeNames(controller.observation(view, children));
          const decision = controller.decide(live, NOW_MS);
          if (decision.do !== 'updateStatus') return;
          said.push(JSON.stringify(decision.status));
          expect(said).toEqual([...new Set(said)]);
          expect(faultsOf(BUILD_STATUS, patched({}, decision.status))).toEqual([]);
          status = patched(status, decision.status);
        }
      }),
      runs(200),
    );
  });

  it('it comes to a rest: a spec that admission refuses has a condition that says so, and no Job', async () => {
    await fc.assert(
      fc.asyncProperty(specs, async (spec) => {
        await settled(oddBuildWorld({ spec: plain(spec) }));
      }),
      runs(50),
    );
  });

  it('and a status that somebody wrote by hand keeps it neither from coming to a rest nor from going', async () => {
    await fc.assert(
      fc.asyncProperty(anyOf(BUILD_STATUS), fc.boolean(), async (status, deleting) => {
        await settled(oddBuildWorld({ status: plain(status), deleting }));
      }),
      runs(60),
    );
  });

  it('and Pods that look like those of its Jobs keep nothing from coming to a rest', async () => {
    const pods = fc.record({
      annotations: textsFor(ANNOTATIONS),
      nodeName: fc.constantFrom('n1', 'n2'),
      phase: fc.constantFrom(...PHASES),
      purpose: fc.constantFrom(...names.JOB_PURPOSES),
    });
    await fc.assert(
      fc.asyncProperty(pods, async ({ annotations, nodeName, phase, purpose }) => {
        const labels = { [names.BUILD_UID_LABEL]: BUILD_UID, [names.PURPOSE_LABEL]: purpose };
        const metadata = { name: 'odd', namespace: 'shop', labels, annotations: plain(annotations) };
        await settled(oddBuildWorld({ pods: [{ metadata, spec: { nodeName }, status: { phase } }] }));
      }),
      runs(40),
    );
  });
});

const NOW_MS = Date.parse('2026-01-02T00:00:00Z');

/** No other Job has the names of its Jobs. */
function withFreeNames({ build, ...seen }: Observation): Observation {
  if (build === 'gone') return { build, ...seen };
  const jobNames = [build.status.jobName, build.spec.ok ? build.spec.spec.jobName : build.uid];
  const all = jobNames.flatMap((name) => (name === undefined ? [] : [name, `${name}-delete`]));
  return { build, ...seen, names: Object.fromEntries(all.map((name) => [name, 'free'])) };
}

/** What is not there has no value, and not the value undefined. */
function withoutUndefined(texts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const there = Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]));
  return Object.fromEntries(there) as Record<string, string>;
}

/** For the explorer, which keeps states as text, in which it marks places with a sign. */
function plain<T>(value: T): T {
  const text = JSON.stringify(stored(value)) as string | undefined;
  return (text === undefined ? undefined : JSON.parse(text.replaceAll('§', ''))) as T;
}
