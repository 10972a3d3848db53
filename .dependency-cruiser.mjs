/** The directions of docs/architecture.md, as rules that fail the build. */
const ours = '^(src|workflows|activities)/';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'nothing imports in a circle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'contract imports nothing of ours',
      severity: 'error',
      from: { path: '^src/contract/' },
      to: { path: ours, pathNot: '^src/contract/' },
    },
    {
      name: 'contract and controllers are pure: they import nothing of Node, and no package but a pure hash',
      severity: 'error',
      from: { path: '^src/(contract|controllers)/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'core'], pathNot: 'node_modules/@noble/hashes/' },
    },
    {
      name: 'controllers import only contract and each other',
      severity: 'error',
      from: { path: '^src/controllers/' },
      to: { path: ours, pathNot: '^src/(contract|controllers)/' },
    },
    {
      name: 'workflows import only contract, controllers, each other and the Temporal workflow package',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        pathNot: '^(workflows/|src/contract/|src/controllers/|node_modules/@temporalio/(workflow|common)/)',
      },
    },
    {
      name: 'activities never see watcher, workflows or temporal',
      severity: 'error',
      from: { path: '^activities/' },
      to: { path: '^(workflows|src/(watcher|temporal|main))' },
    },
    {
      // The one exception is an import at run time, which no rule sees: src/local-stack.ts.
      name: 'the product never sees the local stack, tests or bench',
      severity: 'error',
      from: { path: ours },
      to: { path: '^(local|test|bench)/' },
    },
    {
      name: 'the local stack imports only src and itself',
      severity: 'error',
      from: { path: '^local/' },
      to: { pathNot: '^(local|src|node_modules)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'watcher never sees activities or workflows',
      severity: 'error',
      from: { path: '^src/watcher/' },
      to: { path: '^(activities|workflows)/' },
    },
    {
      name: 'kubernetes knows only contract',
      severity: 'error',
      from: { path: '^src/kubernetes/' },
      to: { path: ours, pathNot: '^src/(contract|kubernetes)/' },
    },
    {
      name: 'the parts that work are observed through the contract; only the codec server shares the HTTP server',
      severity: 'error',
      from: { path: '^(src/(watcher|kubernetes|controllers|contract|temporal)|activities|workflows)/' },
      to: {
        path: '^src/observability/',
        pathNot: '^src/observability/http-server[.]ts$',
      },
    },
    {
      name: 'observability knows only contract, kubernetes and the type of an address',
      severity: 'error',
      from: { path: '^src/observability/' },
      to: { path: ours, pathNot: '^src/(contract|kubernetes|observability|config)' },
    },
    {
      name: 'only observability knows of Prometheus and OpenTelemetry',
      severity: 'error',
      from: { path: ours, pathNot: '^src/observability/' },
      to: { path: 'node_modules/(prom-client|@opentelemetry)/' },
    },
    {
      name: 'only the composition root sees main',
      severity: 'error',
      from: { pathNot: '^src/main' },
      to: { path: '^src/main' },
    },
    {
      name: 'nothing imports what package.json does not list',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'the product does not import development packages',
      severity: 'error',
      from: { path: ours },
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
