/** What is built and delivered. */
const product = '^(src|workflows|activities|testing)/';
/** All of this project's code. */
const ours = '^(src|workflows|activities|testing|local|create|deploy|docs|examples|bench|test)/';

/** Of no folder's own: what a user has to correct, and the way through proxies. */
const SETTINGS = ['src/config/configuration-error.ts', 'src/config/proxies.ts'];

/** What each folder may import of our code, besides itself: the table in docs/architecture.md, "Where things are". */
const MAY_IMPORT = {
  'src/api/': [],
  'src/runs/': ['src/api/'],
  'src/engine/': ['src/api/', 'src/runs/'],
  'workflows/': ['src/api/', 'src/runs/'],
  'src/kubernetes/': ['src/api/', 'src/runs/', ...SETTINGS],
  'activities/': ['src/api/', 'src/runs/', 'src/engine/', 'src/kubernetes/'],
  'src/watcher/': ['src/api/', 'src/runs/', 'src/engine/', 'src/kubernetes/', ...SETTINGS],
  'src/observability/': [
    ...['src/api/', 'src/runs/', 'src/engine/', 'src/kubernetes/'],
    ...['src/config/config.ts', ...SETTINGS],
  ],
  'src/temporal/': [
    ...['src/api/', 'src/runs/', 'src/watcher/runs.ts'],
    ...['src/config/config.ts', 'src/observability/http-server.ts', ...SETTINGS],
  ],
  'src/config/': ['src/api/', 'src/runs/', 'src/ask/commands.ts'],
  // It also loads each command.
  'src/program/': ['src/', 'activities/'],
  'src/ask/': [
    ...[
      'src/api/',
      'src/runs/',
      'src/engine/',
      'src/kubernetes/',
      'src/temporal/',
      'src/config/',
      'src/program/',
    ],
    ...['src/controllers/index.ts', 'activities/'],
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

function startsWithAny(paths) {
  return `^(${paths.map((path) => path.replaceAll('.', '[.]')).join('|')})`;
}

const folders = Object.entries(MAY_IMPORT).map(([folder, others]) => ({
  name: `${folder} imports, of our code, only ${['itself', ...others].join(', ')}`,
  severity: 'error',
  from: { path: startsWithAny([folder]) },
  to: {
    path: ours,
    pathNot: startsWithAny([folder, ...others]),
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...folders,
    {
      // Workflows are bundled from their files: src/temporal/bundle.ts. `local` is loaded at run time: src/program/local-stack.ts.
      name: 'src/index.ts and src/main.ts import nothing of workflows/, testing/, local/, deploy/, docs/, bench/ or test/',
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
      name: 'src/controllers/index.ts imports only the front door and its controllers',
      severity: 'error',
      from: { path: '^src/controllers/[^/]+$' },
      to: { path: ours, pathNot: '^(src/api/index[.]ts$|src/controllers/)' },
    },
    {
      name: 'nothing imports src/main.ts',
      severity: 'error',
      from: {},
      to: { path: '^src/main[.]ts$' },
    },
    {
      name: 'the program is handed down: of what is built, only the main modules import src/controllers/, by its index.ts',
      severity: 'error',
      from: { path: product, pathNot: '^src/((main|ask/main|ask/complete)[.]ts$|controllers/)' },
      to: { path: '^src/controllers/' },
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
      name: 'src/api/, src/runs/, src/engine/ and src/controllers/ are pure: of Node only its hashes, of packages zod, and the types of manifests',
      severity: 'error',
      from: { path: '^src/(api|runs|engine|controllers)/', pathNot: '^src/api/manifest[.]ts$' },
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
