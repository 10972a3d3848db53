import { shared } from './jest.config.js';

/** What StrykerJS runs: one project, whose `testMatch` comes from .ci/mutation.js. */
export default { ...shared, testTimeout: 30_000, roots: ['<rootDir>/test', '<rootDir>/src'] };
