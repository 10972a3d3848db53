// Mutation testing: StrykerJS breaks the code in one place at a time, and some test has to fail. It runs every night.
// `npm run mutation` measures all parts, `npm run mutation -- --part pod-set` one of them, and
// `npm run mutation -- --mutate src/controllers` the files below a path. `--force` repeats what was measured before.
import { Stryker } from '@stryker-mutator/core';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';

process.chdir(join(import.meta.dirname, '..'));

/** Percent of mutants that some test finds. With fewer, the command fails. */
const BREAK_BELOW = 90;
/** A busy machine must not look like a mutant that hangs. */
const TIMEOUT_MS = 30_000;
const REPORTS = 'reports/mutation';

/** What is mutated, and the few tests that know it best: each mutant loads all of them. */
const PARTS = {
  errors: {
    mutated: ['src/kubernetes/errors.ts'],
    tests: ['test/kubernetes/errors.test.ts'],
  },
  runs: {
    mutated: ['src/runs/decision.ts', 'src/runs/failures.ts', 'src/api/resource-ref.ts'],
    tests: [
      'test/runs/decision.test.ts',
      'test/runs/actions.test.ts',
      'test/api/resource-ref.test.ts',
      'test/activities/edge.test.ts',
    ],
  },
  steps: {
    mutated: [
      'activities/objects/batches.ts',
      'activities/edge.ts',
      'activities/overridden.ts',
      'activities/run-memory.ts',
      'activities/step-run.ts',
    ],
    tests: [
      'test/activities/batches.test.ts',
      'test/activities/edge.test.ts',
      'test/activities/memory.test.ts',
      'test/activities/reconcile.test.ts',
      'test/activities/superseding.test.ts',
      'test/activities/undelivered.test.ts',
    ],
  },
  workflows: {
    mutated: ['workflows/changes.ts', 'workflows/reconcile.ts', 'workflows/marking.ts'],
    tests: ['test/workflows/reconcile.test.ts'],
  },
  dispatcher: {
    mutated: [
      'src/watcher/dispatcher.ts',
      'src/watcher/evaluation.ts',
      'src/watcher/ready-queue.ts',
      'src/watcher/timing.ts',
    ],
    tests: [
      'test/watcher/dispatcher.test.ts',
      'test/watcher/ready-queue.test.ts',
      'test/watcher/outage.test.ts',
      'test/watcher/news.test.ts',
      'test/watcher/backoff.test.ts',
    ],
  },
  requests: {
    mutated: ['src/watcher/request-machine.ts', 'src/watcher/request-state.ts'],
    tests: ['test/watcher/dispatcher.test.ts', 'test/watcher/request-machine.test.ts'],
  },
  controllers: {
    mutated: [
      'src/api/kinds.ts',
      'src/controllers/pod-set/controller.ts',
      'src/controllers/git-build/controller.ts',
    ],
    tests: [
      'test/controllers/index.test.ts',
      'test/api/kinds.test.ts',
      'test/controllers/namespace-role-binding.test.ts',
      'test/controllers/pod-label.test.ts',
      'test/controllers/pod-set.test.ts',
      'test/controllers/git-build/controller.test.ts',
    ],
  },
  selector: {
    mutated: ['src/api/label-selector.ts'],
    tests: ['test/api/label-selector.test.ts'],
  },
  conditions: {
    mutated: ['src/engine/condition.ts', 'src/api/fields.ts'],
    tests: [
      'test/controllers/pod-set.test.ts',
      'test/engine/condition.test.ts',
      'test/controllers/git-build/views.test.ts',
      'test/controllers/git-build/pod-view.test.ts',
    ],
  },
  'pod-label': {
    mutated: ['src/controllers/pod-label/controller.ts'],
    tests: ['test/controllers/pod-label.test.ts'],
  },
  'role-binding': {
    mutated: [
      'src/controllers/namespace-role-binding/binding.ts',
      'src/controllers/namespace-role-binding/controller.ts',
    ],
    tests: ['test/controllers/namespace-role-binding.test.ts'],
  },
  'pod-set': {
    mutated: [
      'src/controllers/pod-set/controller.ts',
      'src/controllers/pod-set/decide.ts',
      'src/controllers/pod-set/fresh.ts',
      'src/controllers/pod-set/names.ts',
      'src/controllers/pod-set/unready.ts',
    ],
    tests: [
      'test/activities/pod-set.test.ts',
      'test/controllers/pod-set.test.ts',
      'test/controllers/pod-set-fresh.test.ts',
      'test/controllers/pod-set-names.test.ts',
      'test/controllers/pod-set-unready.test.ts',
    ],
  },
  'pod-set-views': {
    mutated: ['src/controllers/pod-set/pod.ts', 'src/controllers/pod-set/ranking.ts'],
    tests: [
      'test/controllers/pod-set.test.ts',
      'test/controllers/pod-set-ranking.test.ts',
      'test/controllers/pod-set-views.test.ts',
    ],
  },
  'git-build': {
    mutated: [
      'src/controllers/git-build/cleanup.ts',
      'src/controllers/git-build/decide.ts',
      'src/controllers/git-build/deletion.ts',
      'src/controllers/git-build/job-rules.ts',
      'src/controllers/git-build/artifacts.ts',
      'src/controllers/git-build/verdict.ts',
    ],
    tests: [
      'test/controllers/git-build/decide.test.ts',
      'test/controllers/git-build/cleanup.test.ts',
      'test/controllers/git-build/reasons.test.ts',
    ],
  },
  'git-build-views': {
    mutated: ['src/controllers/git-build/views.ts', 'src/controllers/git-build/failure.ts'],
    tests: [
      'test/controllers/git-build/views.test.ts',
      'test/controllers/git-build/pod-view.test.ts',
      'test/controllers/git-build/failure.test.ts',
    ],
  },
  'git-build-spec': {
    mutated: ['src/controllers/git-build/spec.ts', 'src/controllers/git-build/jobs.ts'],
    tests: [
      'test/controllers/git-build/spec.test.ts',
      'test/controllers/git-build/jobs.test.ts',
      'test/controllers/git-build/script.test.ts',
    ],
  },
};

const {
  mutate = '',
  part,
  force,
} = parseArgs({
  options: {
    mutate: { type: 'string' },
    part: { type: 'string' },
    force: { type: 'boolean', default: false },
  },
}).values;

if (part !== undefined && !Object.hasOwn(PARTS, part)) throw new Error(`no part ${part}`);

for (const [name, { mutated, tests }] of Object.entries(PARTS)) {
  const missing = [...mutated, ...tests].filter((file) => !existsSync(file));
  if (missing.length > 0) throw new Error(`part ${name}: there is no ${missing.join(', ')}`);
  const files = mutated.filter((file) => file.startsWith(mutate));
  if (files.length > 0 && (part ?? name) === name) await measure(name, files, tests);
}

async function measure(name, files, tests) {
  mkdirSync(REPORTS, { recursive: true });
  const file = (kind) => join(REPORTS, `${name}.${kind}`);
  await new Stryker({
    mutate: files,
    testRunner: 'jest',
    testRunnerNodeArgs: ['--experimental-vm-modules'],
    jest: {
      configFile: 'jest.mutation.config.js',
      enableFindRelatedTests: false,
      config: { testMatch: tests.map((file) => `<rootDir>/${file}`) },
    },
    coverageAnalysis: 'perTest',
    concurrency: 1,
    // Jest's modules are never freed.
    maxTestRunnerReuse: 40,
    timeoutMS: TIMEOUT_MS,
    disableTypeChecks: false,
    incremental: true,
    incrementalFile: file('incremental.json'),
    force,
    ignorePatterns: ['reports', 'tools', '.local', 'dist'],
    thresholds: { high: 95, low: BREAK_BELOW, break: BREAK_BELOW },
    reporters: ['clear-text', 'progress-append-only', 'json', 'html'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: file('json') },
    htmlReporter: { fileName: file('html') },
  }).runMutationTest();
}
