import type { BuildSpec } from '../../src/controllers/git-build/kind.ts';
import type { GitBuildOptions } from '../../src/controllers/git-build/options.ts';

/* Apart from builds.ts, which loads an operator: a test of decisions needs none. */

export const BUILD_DEFAULTS: GitBuildOptions = {
  buildImage: 'golang:1.13',
  buildHostDir: '/opt',
  buildDeadline: 3_600_000,
  buildGitTransports: ['https', 'ssh'],
};

/** The spec of the sample. */
export const SAMPLE: BuildSpec = {
  gitUrl: 'https://github.com/kelseyhightower/helloworld.git',
  clonePath: '/root/go/src/helloworld',
  buildCommand: 'go build',
  binaryName: 'helloworld',
  jobName: 'build-helloworld',
};
