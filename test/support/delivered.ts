import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { buildPrograms } from '../../local/build.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
/** What people apply with kubectl. */
export const INSTALL_MANIFEST = join(DEPLOY, 'install.yaml');

/** An object that is installed with the operator. */
export const Delivered = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});

export type Delivered = z.infer<typeof Delivered>;

/** The release that tests render, unless they say otherwise. */
export const RELEASE = {
  name: 'durable-operator',
  namespace: 'durable-operator-system',
  /** The folder of the chart. */
  chart: join(DEPLOY, 'helm'),
  /** With `--set-string`, a value is never a number or a boolean. */
  setAs: '--set',
};

/** The chart has no default. */
const ALL_CONTROLLERS = 'controllers={pod-label,namespace-role-binding,pod-set,git-build}';

/**
 * The operator as the test stacks have it: a release with all controllers in namespace `system`, and the namespace.
 *
 * @param values each as `--set` takes it: `mode=split`
 */
export async function installed(values: readonly string[] = []): Promise<readonly Delivered[]> {
  const [namespace] = parseDocuments(await readFile(INSTALL_MANIFEST, 'utf8'));
  if (namespace?.kind !== 'Namespace') throw new Error('install.yaml does not begin with its Namespace');
  const metadata = { ...namespace.metadata, name: 'system' };
  return [{ ...namespace, metadata }, ...(await charted(values, { namespace: metadata.name }))];
}

/** Objects of the chart, without those that Helm makes only before the release is uninstalled. */
export async function charted(
  values: readonly string[],
  release: Partial<typeof RELEASE> = {},
): Promise<readonly Delivered[]> {
  const objects = await chartedWithHooks(values, release);
  return objects.filter((object) => hookOf(object) !== 'pre-delete');
}

/**
 * All objects of the chart.
 *
 * @throws Error with Helm's message
 */
export async function chartedWithHooks(
  values: readonly string[],
  release: Partial<typeof RELEASE> = {},
): Promise<readonly Delivered[]> {
  const { name, namespace, chart, setAs } = { ...RELEASE, ...release };
  const sets = withControllers(values).flatMap((value) => [setAs, value]);
  const args = ['template', name, chart, '--namespace', namespace, ...sets];
  const { helm } = await buildPrograms(['helm'], {});
  const { stdout } = await promisify(execFile)(helm, args, { maxBuffer: 10_000_000 });
  return parseDocuments(stdout);
}

/** With all controllers, unless the values choose some. */
export function withControllers(values: readonly string[]): readonly string[] {
  return values.some((value) => value.startsWith('controllers=')) ? values : [ALL_CONTROLLERS, ...values];
}

/** When Helm makes an object; undefined if it is part of the release. */
export function hookOf({ metadata: { annotations } }: Delivered): string | undefined {
  return annotations?.['helm.sh/hook'];
}

/** @throws Error where a key is there twice: Kubernetes would take the last */
export function parseDocuments(text: string): readonly Delivered[] {
  return parseAllDocuments(text)
    .filter(({ contents }) => contents !== null)
    .map((document) => {
      for (const error of document.errors) throw error;
      return Delivered.parse(document.toJS());
    });
}
