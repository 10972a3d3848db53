import type { BuildSpec, GitBuildOptions } from '../../src/controllers/git-build/kind.ts';

/* Apart from builds.ts, which loads an operator: a test of decisions needs none. */

export const BUILD_DEFAULTS: GitBuildOptions = {
  image: 'golang:1.13',
  hostDir: '/opt',
  deadlineMs: 3_600_000,
  gitTransports: ['https', 'ssh'],
};

/** The spec of the sample. */
export const SAMPLE: BuildSpec = {
  gitUrl: 'https://github.com/kelseyhightower/helloworld.git',
  clonePath: '/root/go/src/helloworld',
  buildCommand: 'go build',
  binaryName: 'helloworld',
  jobName: 'build-helloworld',
};
