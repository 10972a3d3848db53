/** What is built and delivered. */
const product = '^(src|workflows|activities|testing)/';
/** All of this project's code. */
const ours = '^(src|workflows|activities|testing|local|create|deploy|docs|examples|bench|test)/';

/** Modules of one file right in src/, which belong to no layer. */
const SMALL = [
  'src/aborted.ts',
  'src/bounded.ts',
  'src/fair-set.ts',
  'src/persistently.ts',
  'src/proxies.ts',
  'src/version.ts',
];

/**
 * What each folder may import of our code, besides itself and, unless it is pure, the small modules: the table in
 * docs/architecture.md, "Where things are". The other files right in src/ put the parts together.
 */
const MAY_IMPORT = {
  'src/contract/': [],
  'src/api/': ['src/contract/'],
  'src/controllers/': ['src/contract/', 'src/api/'],
  'workflows/': ['src/contract/'],
  'src/kubernetes/': ['src/contract/'],
  'activities/': ['src/contract/', 'src/api/', 'src/controllers/', 'src/kubernetes/'],
  'src/watcher/': ['src/contract/', 'src/controllers/', 'src/kubernetes/'],
  'src/observability/': ['src/contract/', 'src/kubernetes/', 'src/config/config.ts'],
  'src/temporal/': [
    ...['src/contract/', 'src/watcher/'],
    ...['src/config/config.ts', 'src/observability/http-server.ts'],
  ],
  'src/config/': ['src/contract/', 'src/api/', 'src/controllers/', 'src/ask/commands.ts'],
  // It also loads each command, by the files right in src/.
  'src/program/': ['src/', 'activities/'],
  'src/ask/': [
    ...['src/contract/', 'src/api/', 'src/controllers/', 'src/kubernetes/', 'src/temporal/', 'src/config/'],
    ...['src/program/program.ts', 'src/program/reconcilers.ts', 'src/durable-operator.ts', 'activities/'],
  ],
  // It loads the local stack when it is called.
  'testing/': ['src/', 'activities/', 'local/'],
  'local/': ['src/'],
  'deploy/': ['src/', 'local/'],
  'docs/': ['src/'],
  // Each is somebody else's project.
  'examples/': ['src/index.ts', 'testing/index.ts'],
  'create/': ['src/index.ts', 'testing/index.ts'],
  'bench/': ['src/', 'local/', 'testing/', 'test/support/'],
};
const PURE = ['src/contract/', 'src/api/', 'src/controllers/', 'workflows/'];

function startsWithAny(paths) {
  return `^(${paths.map((path) => path.replaceAll('.', '[.]')).join('|')})`;
}

const folders = Object.entries(MAY_IMPORT).map(([folder, others]) => ({
  name: `${folder} imports, of our code, only ${['itself', ...others].join(', ')}`,
  severity: 'error',
  from: { path: startsWithAny([folder]) },
  to: {
    path: ours,
    pathNot: startsWithAny([folder, ...others, ...(PURE.includes(folder) ? [] : SMALL)]),
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...folders,
    {
      name: 'src/aborted.ts, bounded.ts, fair-set.ts, persistently.ts, proxies.ts and version.ts import, of our code, only src/contract/',
      severity: 'error',
      from: { path: startsWithAny(SMALL) },
      to: { path: ours, pathNot: '^src/contract/' },
    },
    {
      // Workflows are bundled from their files: src/temporal/bundle.ts. `local` is loaded at run time: src/local-stack.ts.
      name: 'the files right in src/ import nothing of workflows/, testing/, local/, deploy/, docs/, bench/ or test/',
      severity: 'error',
      from: { path: '^src/[^/]+[.]ts$' },
      to: { path: '^(workflows|testing|local|deploy|docs|bench|test)/' },
    },
    {
      // So the library suffices for them, and for those of others.
      name: 'a controller of ours imports only the front door: src/api/index.ts',
      severity: 'error',
      from: { path: '^src/controllers/(pod-label|namespace-role-binding|pod-set|git-build)/' },
      to: { path: ours, pathNot: '^(src/api/index[.]ts$|src/controllers/$1/)' },
    },
    {
      name: 'nothing imports src/main.ts',
      severity: 'error',
      from: {},
      to: { path: '^src/main[.]ts$' },
    },
    {
      name: 'the program is handed down: of what is built, only the main modules import src/durable-operator.ts',
      severity: 'error',
      from: { path: product, pathNot: '^src/(main|ask/main|ask/complete)[.]ts$' },
      to: { path: '^src/durable-operator[.]ts$' },
    },
    {
      name: 'nothing imports a test',
      severity: 'error',
      from: {},
      to: { path: '[.](test|integration|nightly)[.]ts$' },
    },
    {
      name: 'nothing imports in a circle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'src/contract/, src/api/ and src/controllers/ are pure: of Node only its hashes, of packages zod, and the types of manifests',
      severity: 'error',
      from: { path: '^src/(contract|api|controllers)/', pathNot: '^src/api/manifest[.]ts$' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'core'], pathNot: '^((node:)?crypto$|node_modules/zod/)' },
    },
    {
      name: 'workflows/ imports nothing of Node, and no package but @temporalio/workflow and @temporalio/common',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'core'],
        pathNot: 'node_modules/@temporalio/(workflow|common)/',
      },
    },
    {
      name: 'only src/observability/ imports Prometheus',
      severity: 'error',
      from: { path: product, pathNot: '^src/observability/' },
      to: { path: 'node_modules/prom-client/' },
    },
    {
      name: 'nothing imports a package that package.json does not list',
      severity: 'error',
      // Its package.json is in another folder until the command `new` writes both.
      from: { pathNot: '^create/template/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'the product imports no development package',
      severity: 'error',
      from: { path: product },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node'] },
  },
};
