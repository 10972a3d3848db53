/*
 * What the fields of a spec may be. The CRD's schema says the same, so that most of it is refused at admission;
 * the operator checks it again before use. The patterns are for both: RE2, as the API server reads them, and
 * JavaScript; hence no lookahead. Lengths count characters.
 */

export interface FieldLimit {
  readonly maxLength: number;
  /** The source of a regular expression, with its anchors. */
  readonly pattern: string;
  /** What the pattern asks for, as it follows "spec.<field> must ". */
  readonly rule: string;
}

/**
 * One colon at a time: `::` names a remote helper of git, as in `ext::sh -c …`. What a shell takes for more than
 * itself is left out, and can be written percent-encoded.
 */
export const GIT_URL: FieldLimit = {
  maxLength: 2048,
  pattern: '^[A-Za-z0-9_](:?[A-Za-z0-9._~/@+,=%&?#!\\[\\]-])*$',
  rule:
    'be a URL, or git@host:path: begin with a letter or digit, have no "::", and of other characters only ' +
    '._~/@+,=%&?#![]:-; write others as %XX',
};

/** Its segments begin with dots only where something else follows: neither `.` nor `..` nor an empty one is clean. */
export const CLONE_PATH: FieldLimit = {
  maxLength: 1024,
  pattern: '^(/\\.*[A-Za-z0-9_+@~-][A-Za-z0-9._+@~-]*)+$',
  rule: 'be an absolute path without ".", ".." or empty segments, of letters, digits and ._+@~-',
};

/** It is shell, and may be anything; one environment variable has to hold it (Linux: 128 KiB of UTF-8). */
export const BUILD_COMMAND: FieldLimit = {
  maxLength: 16_384,
  pattern: '^\\s*[^\\x00\\s][^\\x00]*$',
  rule: 'be a shell command, and not blank',
};

/** One segment of a path: a file in the host directory. */
export const BINARY_NAME: FieldLimit = {
  maxLength: 255,
  pattern: '^\\.*[A-Za-z0-9_+@][A-Za-z0-9._+@-]*$',
  rule: 'be the name of a file, without a path, of letters, digits and ._+@-, and not begin with "-"',
};

/** So long that the cleanup Job's name is a DNS label, too. */
export const JOB_NAME: FieldLimit = {
  maxLength: 56,
  pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
  rule: 'be a DNS label: lower-case letters, digits and "-", with a letter or digit at both ends',
};

/** What a cleanup Job's name has behind the `jobName`; hence no `jobName` may end in it. */
export const CLEANUP_SUFFIX = '-delete';

/** Nothing is cloned to these, nor below them. The host directory is another such, which is an option. */
export const FORBIDDEN_CLONE_ROOTS: readonly string[] = ['/proc', '/sys', '/dev', '/opt'];

export const LIMITS = {
  gitUrl: GIT_URL,
  clonePath: CLONE_PATH,
  buildCommand: BUILD_COMMAND,
  binaryName: BINARY_NAME,
  jobName: JOB_NAME,
} as const;
