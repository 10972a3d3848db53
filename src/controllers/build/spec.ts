import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { CLEANUP_SUFFIX, FORBIDDEN_CLONE_ROOTS, JOB_NAME, LIMITS, type FieldLimit } from './limits.ts';
import type { BuildOptions, GitTransport } from './options.ts';
import type { BuildSpec } from './resource.ts';

/** A spec that was checked, or all that is wrong with it. */
export type CheckedSpec =
  | { readonly ok: true; readonly spec: BuildSpec; readonly hash: string }
  /** One sentence each: what is wrong, and what it must be. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** What of the options a spec is held against. */
export type SpecOptions = Pick<BuildOptions, 'hostDir' | 'gitTransports'>;

/** @param raw `spec` as the API server has it: of any shape, where the schema is another or was another once */
export function checkSpec(raw: unknown, options: SpecOptions): CheckedSpec {
  const fields = typeof raw === 'object' && raw !== null ? Object.entries(raw) : [];
  const values = new Map<string, unknown>(fields);
  const text = (name: keyof BuildSpec) => textOf(values.get(name));
  const spec: BuildSpec = {
    gitUrl: text('gitUrl'),
    clonePath: text('clonePath'),
    buildCommand: text('buildCommand'),
    binaryName: text('binaryName'),
    jobName: text('jobName'),
  };
  const problems = FIELDS.flatMap((name) => problemsOf(name, values.get(name), options));
  return problems.length === 0 ? { ok: true, spec, hash: specHash(spec) } : { ok: false, problems };
}

/** Names one spec: the first 32 hexadecimal digits of a SHA-256 over all its fields. */
export function specHash(spec: BuildSpec): string {
  const text = JSON.stringify(FIELDS.map((name) => spec[name]));
  return bytesToHex(sha256(utf8ToBytes(text))).slice(0, 32);
}

/** Whether a name, wherever it was read, may be that of a file to remove. */
export function isBinaryName(name: string): boolean {
  return keeps(name, LIMITS.binaryName);
}

/** Whether a name, wherever it was read, may be that of a build Job. */
export function isJobName(name: string): boolean {
  return keeps(name, JOB_NAME) && !name.endsWith(CLEANUP_SUFFIX);
}

const FIELDS = ['gitUrl', 'clonePath', 'buildCommand', 'binaryName', 'jobName'] as const;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The first that is wrong with a field; what comes after it would only repeat it. */
function problemsOf(name: keyof BuildSpec, value: unknown, options: SpecOptions): string[] {
  if (value === undefined || value === null || value === '') return [`spec.${name} is missing`];
  if (typeof value !== 'string') return [`spec.${name} must be text`];
  const { maxLength, rule } = LIMITS[name];
  if (value.length > maxLength) {
    return [`spec.${name} has ${value.length} characters, and may have ${maxLength}`];
  }
  if (!keeps(value, LIMITS[name])) return [`spec.${name} must ${rule}`];
  const problem = BEYOND_PATTERNS[name]?.(value, options);
  return problem === undefined ? [] : [`spec.${name} ${problem}`];
}

function keeps(value: string, { maxLength, pattern }: FieldLimit): boolean {
  return value.length <= maxLength && new RegExp(pattern).test(value);
}

type Rule = (value: string, options: SpecOptions) => string | undefined;

const BEYOND_PATTERNS: { readonly [Name in keyof BuildSpec]?: Rule } = {
  gitUrl: (url, { gitTransports }) => problemOfUrl(url, gitTransports),
  clonePath: (path, { hostDir }) => problemOfPath(path, hostDir),
  jobName: (name) =>
    name.endsWith(CLEANUP_SUFFIX)
      ? `must not end in ${CLEANUP_SUFFIX}, as the cleanup Job's does`
      : undefined,
};

const HOST = '(?:[A-Za-z0-9][A-Za-z0-9.-]*|\\[[0-9A-Fa-f:.]+\\])';
/** `scheme://user:password@host:port/path` */
const URL_FORM = new RegExp(`^([A-Za-z0-9+.-]+)://(?:[A-Za-z0-9_][^/?#@]*@)?${HOST}(?::[0-9]+)?/.+$`);
/** `user@host:path`; a path that begins with `/` or `-` is none that people write. Source: git-clone(1), GIT URLS. */
const SCP_FORM = new RegExp(`^(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?${HOST}:(?![-/]{2}|-).+$`);

function problemOfUrl(url: string, transports: readonly GitTransport[]): string | undefined {
  const transport = transportOf(url);
  if (transport === undefined) return 'must be a URL with a host and a path, or git@host:path';
  if (transports.some((allowed) => allowed === transport)) return undefined;
  return `uses the transport ${transport}, and the operator allows ${transports.join(', ')}`;
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
  return root === undefined ? undefined : `must not be ${root}, nor lie below it`;
}
