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
  moduleNameMapper: { '/kube-config\\.ts$': '@kubernetes/client-node' },
};

/** Unit tests end in `.test.ts`; those that need the local stack in `.integration.ts`. */
export default {
  // Of all projects: a project cannot have its own.
  testSequencer: '<rootDir>/test/support/sequencer.js',
  // A machine may be busy; what is wrong is seen by contents, not by time.
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/test/support/tally-reporter.js'],
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/test/**/*.test.ts'] },
    {
      ...shared,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/**/*.integration.ts'],
      globalSetup: '<rootDir>/test/support/start-stack.js',
      globalTeardown: '<rootDir>/test/support/stop-stack.js',
    },
  ],
};
