/** How git may get at a source; `ssh` allows `git@host:path` as well. */
export const GIT_TRANSPORTS = ['https', 'ssh', 'http', 'git'] as const;
export type GitTransport = (typeof GIT_TRANSPORTS)[number];

/** The operator's options for this controller, parsed. */
export interface BuildOptions {
  /** Of the Jobs' containers: `golang:1.13`. It has bash, git and coreutils. */
  readonly image: string;
  /** The directory of each node that binaries are copied to: `/opt`. */
  readonly hostDir: string;
  /** How long a Job may take, in milliseconds. */
  readonly deadlineMs: number;
  readonly gitTransports: readonly GitTransport[];
}
