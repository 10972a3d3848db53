export const shared = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript' },
          experimental: { keepImportAttributes: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.stryker-tmp/'],
  // Jest allows no hooks into Node's own loader: docs/adr/0019.
  moduleNameMapper: {
    '/kube-config\\.ts$': '@kubernetes/client-node',
    // The examples import the package by its name.
    '^durable-operator$': '<rootDir>/src/index.ts',
    '^durable-operator/testing$': '<rootDir>/testing/index.ts',
  },
};

/** Tests with the servers of the local stack. */
const onTheStack = (displayName) => ({
  ...shared,
  displayName,
  testMatch: [`<rootDir>/test/**/*.${displayName}.ts`],
  globalSetup: '<rootDir>/test/support/start-stack.js',
  globalTeardown: '<rootDir>/test/support/stop-stack.js',
});

/** test/README.md says which tests end in `.test.ts`, `.integration.ts` and `.nightly.ts`. */
export default {
  // Jest takes one sequencer for all projects.
  testSequencer: '<rootDir>/test/support/sequencer.js',
  // A busy machine is slow. Tests compare contents, not times.
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/test/support/tally-reporter.js'],
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/test/**/*.test.ts'] },
    onTheStack('integration'),
    onTheStack('nightly'),
  ],
};
