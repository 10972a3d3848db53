import { randomBytes } from 'node:crypto';
import type { BuildSpec } from '../../src/controllers/git-build/kind.ts';

export const CONTROLLERS = ['pod-label', 'namespace-role-binding', 'pod-set', 'git-build'] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Of a build's spec, what people choose. */
export interface BuildFields {
  readonly jobName: string;
  readonly binaryName: string;
  /** What follows the name of the machine in the URL; it has a secret besides. */
  readonly repository: string;
  /** `go build` ends at once, `sleep infinity` never. */
  readonly buildCommand: string;
}

/** Where one run of a schedule takes place: names that no other run has. */
export interface Place {
  /** The namespace of Pods, PodSets and builds. */
  readonly home: string;
  /** The namespace that people label, delete and create again. */
  readonly team: string;
  readonly taskQueue: string;
  /** What must be nowhere but in specs and Jobs. */
  readonly secret: string;
}

/** @param seed only for people who look at the cluster */
export function newPlace(seed: number): Place {
  const name = `campaign-${seed}-${randomBytes(3).toString('hex')}`;
  const secret = `hunter2x${randomBytes(8).toString('hex')}`;
  return { home: `${name}-home`, team: `${name}-team`, taskQueue: name, secret };
}

/** On a Pod that lost the labels of its PodSet before a status named it. */
export const UNNAMED_ANNOTATION = 'campaign/unnamed';
/** A namespace whose label says this is not selected. */
export const TEAM_LABEL = 'sandbox';
export const TEAM_SELECTOR = `${TEAM_LABEL}!=no`;

export function bindingOf(namespace: string): string {
  return `ad-kubernetes-${namespace}`;
}

/** Its URL has the secret twice: as a password, and in its query. */
export function buildSpec(
  { repository, ...fields }: BuildFields,
  { secret }: Pick<Place, 'secret'>,
): BuildSpec {
  const gitUrl = gitUrlOf(repository, secret);
  return { gitUrl, clonePath: '/root/go/src/app', ...fields };
}

export function gitUrlOf(repository: string, secret: string): string {
  return `https://builder:${secret}@git.example.com/${repository}.git?private_token=${secret}`;
}
