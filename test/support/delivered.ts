import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const DEPLOY = join(import.meta.dirname, '../../deploy');

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

/** What a kustomization gives. @param folder in deploy/, or anywhere by its whole path */
export function kustomized(kubectl: string, folder: string): Promise<readonly Delivered[]> {
  return rendered(kubectl, ['kustomize', folder.startsWith('/') ? folder : join(DEPLOY, folder)]);
}

/** The same by kustomize itself. @param folder by its whole path */
export function kustomizedBy(kustomize: string, folder: string): Promise<readonly Delivered[]> {
  return rendered(kustomize, ['build', folder]);
}

/** What a release of the chart is called, where it is, and the folder of the chart, unless a test says otherwise: as deploy/default. */
export const RELEASE = {
  name: 'durable-operator',
  namespace: 'durable-operator-system',
  chart: join(DEPLOY, 'helm'),
  /** `--set-string` makes no numbers, and no booleans either. */
  setAs: '--set',
};

/**
 * What the chart gives; not what Helm makes before the release is uninstalled, and takes away at once.
 *
 * @param values each as `--set` takes it: `mode=split`
 */
export async function charted(
  helm: string,
  values: readonly string[],
  release: Partial<typeof RELEASE> = {},
): Promise<readonly Delivered[]> {
  const objects = await chartedWithHooks(helm, values, release);
  return objects.filter((object) => hookOf(object) !== 'pre-delete');
}

/** The same, and what Helm makes then. */
export function chartedWithHooks(
  helm: string,
  values: readonly string[],
  release: Partial<typeof RELEASE> = {},
): Promise<readonly Delivered[]> {
  const { name, namespace, chart, setAs } = { ...RELEASE, ...release };
  const sets = values.flatMap((value) => [setAs, value]);
  return rendered(helm, ['template', name, chart, '--namespace', namespace, ...sets]);
}

/** When Helm makes an object; undefined where it is part of the release. */
export function hookOf({ metadata: { annotations } }: Delivered): string | undefined {
  return annotations?.['helm.sh/hook'];
}

/** @throws Error with what the program says */
async function rendered(program: string, args: readonly string[]): Promise<readonly Delivered[]> {
  const { stdout } = await promisify(execFile)(program, [...args], { maxBuffer: 10_000_000 });
  return parseAllDocuments(stdout)
    .filter(({ contents }) => contents !== null)
    .map((document) => {
      // Such as a key that is there twice, of which Kubernetes takes the last.
      for (const error of document.errors) throw error;
      return Delivered.parse(document.toJS());
    });
}
