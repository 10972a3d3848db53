import { describe, expect, it } from '@jest/globals';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../src/api/kinds.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import type { NextStep } from '../../src/runs/decision.ts';
import type { DefinedObservation } from '../../src/engine/observation.ts';
import { definedView } from '../../src/engine/view.ts';
import { gitBuild } from '../../src/controllers/git-build/controller.ts';
import { buildJob, buildScript, cleanupJob, cleanupScript } from '../../src/controllers/git-build/jobs.ts';
import * as names from '../../src/controllers/git-build/kind.ts';
import { checkSpec } from '../../src/controllers/git-build/spec.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../support/build-samples.ts';
import {
  BAD_BUILD_STATUSES,
  BAD_SPECS,
  GOOD_SPECS,
  HUGE,
  ODD_BUILD_STATUSES,
  type OddSpec,
} from '../support/odd-values.ts';
import { statusIn, isStatusWrite } from '../support/status-write.ts';
import { withValues } from '../../src/engine/bound.ts';

const OPTIONS = { ...BUILD_DEFAULTS, buildHostDir: '/srv/bin' };
const OWNER = { namespace: 'shop', name: 'sample', uid: 'u' };
const NOW_MS = Date.parse('2026-01-02T00:00:00Z');
const LONG_AGO = '2026-01-01T00:00:00Z';

const specWith = ({ field, value }: OddSpec) => ({ ...SAMPLE, [field]: value });
const shown = (value: unknown) => JSON.stringify([value]).slice(0, 60);
const titled = (specs: readonly OddSpec[]) =>
  specs.map((each, i) => [i, each.field, shown(each.value), each] as const);

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

describe('a spec', () => {
  it.each(titled(GOOD_SPECS))('%i with a good %s comes to its Job as it is: %s', (_, __, ___, given) => {
    const checked = checkSpec(specWith(given), OPTIONS);
    if (!checked.ok) throw new Error(checked.problems.join());
    const { command, env = [] } = containerOf(buildJob(OWNER, checked, OPTIONS));
    expect(command).toEqual(['bash', '-c', buildScript()]);
    const values = Object.fromEntries(env.map(({ name, value }) => [name, expanded(value)]));
    expect(values).toMatchObject({
      GIT_URL: checked.spec.gitUrl,
      CLONE_PATH: checked.spec.clonePath,
      BUILD_COMMAND: checked.spec.buildCommand,
      BINARY_NAME: checked.spec.binaryName,
    });
  });

  it.each(titled(BAD_SPECS))('%i with a bad %s is refused, and not quoted: %s', (_, field, __, given) => {
    const checked = checkSpec(specWith(given), OPTIONS);
    const problems = checked.ok ? [] : checked.problems;
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^spec\\.${field} [\\x20-\\x7e]{1,230}$`))]);
  });

  it.each([undefined, null, 'text', 7, [], {}])('that is %j lacks every field', (raw) => {
    const checked = checkSpec(raw, OPTIONS);
    const missing = Object.keys(SAMPLE).map((name) => `spec.${name} is missing`);
    expect(checked.ok ? [] : checked.problems).toEqual(missing);
  });

  it('has a cleanup that takes names for names', () => {
    const binaries = GOOD_SPECS.flatMap(({ field, value }) =>
      field === 'binaryName' ? [String(value)] : [],
    );
    const cleanup = { jobName: 'x-delete', node: 'n1', binaries };
    const { command } = containerOf(cleanupJob(OWNER, cleanup, OPTIONS));
    expect(command.slice(0, 4)).toEqual(['bash', '-c', cleanupScript(), 'cleanup']);
    expect(command.slice(4).map(expanded)).toEqual(binaries);
  });
});

const GIT_BUILD = withValues(gitBuild, OPTIONS);
const controller = definedController(GIT_BUILD);
const META = { ...OWNER, resourceVersion: '1', generation: 1, creationTimestamp: LONG_AGO };

interface Odd {
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly deletion?: object;
  readonly children?: readonly {
    readonly metadata: object;
    readonly status?: unknown;
    readonly spec?: object;
  }[];
}

/** What is done once the status says all that there is to say; no other Job has the names of its Jobs. */
function settled({ spec = SAMPLE, status: stored = {}, deletion = {}, children = [] }: Odd): NextStep {
  const metadata = { ...META, ...deletion, finalizers: [names.BUILD_FINALIZER] };
  const owned = children.flatMap((child) => {
    const object = { ...child, metadata: { ...META, ...child.metadata } };
    return controller.children.flatMap((child) => child.view(object) ?? []);
  });
  let status = stored;
  const said = new Set<string>();
  for (;;) {
    const view = definedView(GIT_BUILD, { metadata, spec, status });
    if (view === undefined) throw new Error('it is of no interest');
    const seen = controller.observation(view, owned, metadata);
    const decision = controller.decide(withLookups(seen), NOW_MS);
    if (!isStatusWrite(decision)) return decision;
    const written = statusIn(decision);
    const text = JSON.stringify(written);
    expect(said).not.toContain(text);
    said.add(text);
    const merged = Object.entries({ ...fieldsOf(status), ...written });
    status = Object.fromEntries(merged.filter(([, value]) => value !== null));
  }
}

function withLookups(seen: DefinedObservation): DefinedObservation {
  if (seen === 'gone') return seen;
  const own = seen.owned.map(({ view }) => view as { readonly kind: string });
  const [jobs, pods] = ['job', 'pod'].map((kind) => own.filter((each) => each.kind === kind));
  const holders = { holder: 'free', cleanupHolder: 'free', namespace: 'there' };
  return {
    ...seen,
    live: {},
    lookups: { ...holders, running: { jobs, pods }, sharers: [], refusedPods: {} },
  };
}

describe('a build', () => {
  it('with a bad spec gets no Job, and is stalled', () => {
    for (const given of BAD_SPECS) expect(settled({ spec: specWith(given) }).do).toBe('stalled');
  });

  const STATUSES = [...ODD_BUILD_STATUSES, ...BAD_BUILD_STATUSES, null, 'x', 7, []];

  it.each(STATUSES.map((status, i) => [i, shown(status), status] as const))(
    '%i with the status %s is built, or says why not',
    (_, __, status) => {
      expect(['createJob', 'converged']).toContain(settled({ status }).do);
    },
  );

  it.each(STATUSES.map((status, i) => [i, shown(status), status] as const))(
    '%i with the status %s can be deleted, and removes only files of nodes',
    (_, __, status) => {
      const deletion = { deletionTimestamp: LONG_AGO };
      expect(settled({ status, deletion }).do).toBe('removeFinalizer');
    },
  );

  const OURS = { [MANAGED_BY_LABEL]: MANAGED_BY, [names.BUILD_UID_LABEL]: META.uid };
  const annotated = (value: string) => {
    const { SPEC_HASH_ANNOTATION: hash, BINARY_NAME_ANNOTATION: binary, NODE_ANNOTATION: node } = names;
    const others = [names.BINARIES_ANNOTATION, names.BUILD_NAME_ANNOTATION];
    return Object.fromEntries([hash, binary, node, ...others].map((name) => [name, value]));
  };
  const odd = { terminated: { exitCode: 7, reason: '', message: HUGE } };
  const ENDS = [
    { phase: 'Failed', containerStatuses: [{ state: odd, image: HUGE }] },
    {
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull' } }, image: HUGE }],
    },
    { phase: 'x', conditions: [{ type: 'PodScheduled', status: 'False' }] },
    { conditions: [{ type: 'Failed', status: 'True', message: '😀'.repeat(40_000), reason: 'x' }] },
    { conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: '9999-12-31T23:59:59Z' }] },
    {},
    undefined,
  ];
  const OBJECTS = names.JOB_PURPOSES.flatMap((purpose) =>
    ['', '../x', '-rf', 'a,b', '\0', HUGE].flatMap((value) =>
      ENDS.map((status) => {
        const labels = { ...OURS, [names.PURPOSE_LABEL]: purpose };
        return { metadata: { labels, annotations: annotated(value) }, spec: { nodeName: value }, status };
      }),
    ),
  );

  it.each([{}, { deletionTimestamp: LONG_AGO }])(
    'is decided on whatever its Jobs and Pods hold, and says each thing once: %j',
    (deletion) => {
      for (const child of OBJECTS) {
        const decision = settled({ children: [child], deletion });
        expect([...Object.keys(controller.steps), 'wait', 'stalled', 'converged', 'observe']).toContain(
          decision.do,
        );
      }
    },
  );
});
