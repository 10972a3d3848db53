// Mutation testing: StrykerJS breaks the code in one place at a time, and some test has to fail. It runs every night.
// `npm run mutation` measures all parts, `npm run mutation -- --part pod-set` one of them, and
// `npm run mutation -- --mutate src/controllers` the files below a path. `--force` repeats what was measured before.
import { Stryker } from '@stryker-mutator/core';
import { globSync, mkdirSync } from 'node:fs';
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
  errors: ['src/kubernetes/errors.ts', 'test/kubernetes/errors.test.ts'],
  contract: [
    'src/contract/{decision,deeds,failures,resource}.ts',
    'test/{contract/*,activities/edge}.test.ts',
  ],
  batches: ['activities/batches.ts', 'test/activities/batches.test.ts'],
  edge: ['activities/{edge,partly-done}.ts', 'test/activities/edge.test.ts'],
  memory: ['activities/memory.ts', 'test/activities/memory.test.ts'],
  step: ['activities/{reconcile,failed-step}.ts', 'test/activities/{reconcile,failed-step}.test.ts'],
  superseding: ['activities/superseding.ts', 'test/activities/superseding.test.ts'],
  undelivered: ['activities/undelivered.ts', 'test/activities/undelivered.test.ts'],
  workflows: ['workflows/{changes,reconcile,marking}.ts', 'test/workflows/reconcile.test.ts'],
  dispatcher: [
    'src/watcher/{dispatcher,ready-queue,outage,news,fair-set,key-timers}.ts',
    'test/watcher/{dispatcher,ready-queue,outage,news,fair-set,key-timers}.test.ts',
  ],
  requests: [
    'src/watcher/request-{machine,runs,state}.ts',
    'test/watcher/{dispatcher,request-machine}.test.ts',
  ],
  controllers: [
    'src/controllers/{index,kinds,*/controller}.ts',
    'test/controllers/{index,kinds,namespace-role-binding,pod-label,pod-set,git-build/controller}.test.ts',
  ],
  selector: ['src/controllers/label-selector.ts', 'test/controllers/label-selector.test.ts'],
  conditions: [
    'src/controllers/{condition,fields,refusal-words}.ts',
    'test/controllers/{pod-set,conditions,git-build/{views,pod-view}}.test.ts',
  ],
  'pod-label': ['src/controllers/pod-label/decide.ts', 'test/controllers/pod-label.test.ts'],
  'role-binding': [
    'src/controllers/namespace-role-binding/decide.ts',
    'test/controllers/namespace-role-binding.test.ts',
  ],
  'pod-set': [
    'src/controllers/pod-set/{decide,failed-pods,status}.ts',
    'test/controllers/{pod-set{,-reasons},held-status}.test.ts',
  ],
  'pod-set-ranking': ['src/controllers/pod-set/ranking.ts', 'test/controllers/pod-set-ranking.test.ts'],
  'pod-set-views': [
    'src/controllers/pod-set/{pod,resource}.ts',
    'test/controllers/pod-set{,-ranking,-views}.test.ts',
  ],
  'git-build': [
    'src/controllers/git-build/{decide,job-rules,observation,refusals,status}.ts',
    'test/controllers/git-build/{decide,cleanup,reasons,refusals}.test.ts',
  ],
  'git-build-cleanup': [
    'src/controllers/git-build/{cleanup,deletion}.ts',
    'test/controllers/git-build/{decide,cleanup}.test.ts',
  ],
  'git-build-views': [
    'src/controllers/git-build/{views,failure}.ts',
    'test/controllers/git-build/{views,pod-view,failure}.test.ts',
  ],
  'git-build-spec': ['src/controllers/git-build/spec.ts', 'test/controllers/git-build/spec.test.ts'],
  'git-build-jobs': ['src/controllers/git-build/jobs.ts', 'test/controllers/git-build/{jobs,script}.test.ts'],
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

for (const [name, [mutated, tests]] of Object.entries(PARTS)) {
  const files = globSync(mutated).filter((file) => file.startsWith(mutate));
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
      config: { testMatch: [`<rootDir>/${tests}`] },
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
