import { hash } from 'node:crypto';
import { CLEANUP_SUFFIX, FORBIDDEN_CLONE_ROOTS, LIMITS, SPEC_FIELDS, type BuildSpec } from './kind.ts';
import type { GitBuildOptions, GitTransport } from './options.ts';

/** A spec that was checked, or all that is wrong with it. */
export type CheckedSpec =
  | { readonly ok: true; readonly spec: BuildSpec; readonly hash: string }
  /** One sentence each: what is wrong, and what it must be. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** The options that a spec is checked against. */
export type SpecOptions = Pick<GitBuildOptions, 'buildHostDir' | 'buildGitTransports'>;

/** @param raw `spec` as the API server has it: of any shape, where the schema is another or was another once */
export function checkSpec(raw: unknown, options: SpecOptions): CheckedSpec {
  const values = (raw ?? {}) as Readonly<Record<string, unknown>>;
  const problems = SPEC_FIELDS.flatMap((name) => problemsOf(name, values[name], options));
  if (problems.length > 0) return { ok: false, problems };
  const spec = Object.fromEntries(SPEC_FIELDS.map((name) => [name, values[name]])) as BuildSpec;
  return { ok: true, spec, hash: specHash(spec) };
}

/** In code points, as the API server counts. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** Names one spec: the first 32 hexadecimal digits of a SHA-256 over all its fields. */
export function specHash(spec: BuildSpec): string {
  const text = JSON.stringify(SPEC_FIELDS.map((name) => spec[name]));
  return hash('sha256', text).slice(0, 32);
}

/** Whether a name, wherever it was read, may be that of a file to remove. */
export function isBinaryName(name: string): boolean {
  return keeps(name, LIMITS.binaryName);
}

/** Whether a name, wherever it was read, may be that of a build Job. */
export function isJobName(name: string): boolean {
  return keeps(name, LIMITS.jobName) && !name.endsWith(CLEANUP_SUFFIX);
}

/** The first that is wrong with a field; what comes after it would only repeat it. */
function problemsOf(name: keyof BuildSpec, value: unknown, options: SpecOptions): string[] {
  if (value === undefined || value === null || value === '') return [`spec.${name} is missing`];
  if (typeof value !== 'string') return [`spec.${name} must be text`];
  const { maxLength, rule } = LIMITS[name];
  const length = lengthOf(value);
  if (length > maxLength) {
    return [`spec.${name} has ${length} characters, but at most ${maxLength} are allowed`];
  }
  if (!keeps(value, LIMITS[name])) return [`spec.${name} must ${rule}`];
  const problem = BEYOND_PATTERNS[name]?.(value, options);
  return problem === undefined ? [] : [`spec.${name} ${problem}`];
}

function keeps(value: string, { maxLength, pattern }: (typeof LIMITS)['jobName']): boolean {
  return lengthOf(value) <= maxLength && new RegExp(pattern).test(value);
}

type Rule = (value: string, options: SpecOptions) => string | undefined;

const BEYOND_PATTERNS: { readonly [Name in keyof BuildSpec]?: Rule } = {
  gitUrl: (url, { buildGitTransports }) => problemOfUrl(url, buildGitTransports),
  clonePath: (path, { buildHostDir }) => problemOfPath(path, buildHostDir),
  jobName: (name) =>
    name.endsWith(CLEANUP_SUFFIX)
      ? `must not end in ${CLEANUP_SUFFIX}, which is reserved for the cleanup Job`
      : undefined,
};

const HOST = '(?:[A-Za-z0-9][A-Za-z0-9.-]*|\\[[0-9A-Fa-f:.]+\\])';
/** `scheme://user:password@host:port/path` */
const URL_FORM = new RegExp(`^([A-Za-z0-9+.-]+)://(?:[A-Za-z0-9_][^/?#@]*@)?${HOST}(?::[0-9]+)?/.+$`);
/** `user@host:path`, without a path that begins with `//` or `-`. Source: git-clone(1), GIT URLS. */
const SCP_FORM = new RegExp(`^(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?${HOST}:(?![-/]{2}|-).+$`);

function problemOfUrl(url: string, transports: readonly GitTransport[]): string | undefined {
  const transport = transportOf(url);
  if (transport === undefined) return 'must be a URL with a host and a path, or git@host:path';
  if (transports.some((allowed) => allowed === transport)) return undefined;
  return `uses the transport ${transport}, but the operator only allows ${transports.join(', ')}`;
}

function transportOf(url: string): string | undefined {
  const [, scheme] = URL_FORM.exec(url) ?? [];
  if (scheme !== undefined) return scheme.toLowerCase();
  if (/^[A-Za-z0-9+.-]+:\/\//.test(url)) return url.startsWith('file://') ? 'file' : undefined;
  return SCP_FORM.test(url) ? 'ssh' : undefined;
}

function problemOfPath(path: string, hostDir: string): string | undefined {
  const root = [...FORBIDDEN_CLONE_ROOTS, hostDir].find(
    (each) => path === each || path.startsWith(`${each}/`),
  );
  return root === undefined ? undefined : `must not be ${root} or lie below it`;
}
