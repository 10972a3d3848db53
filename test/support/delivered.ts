import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const DEPLOY = join(import.meta.dirname, '../../deploy');

const Delivered = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** An object that is installed with the operator. */
export type Delivered = z.infer<typeof Delivered>;

/** What a kustomization gives. @param folder in deploy/, or anywhere by its whole path */
export function kustomized(kubectl: string, folder: string): Promise<readonly Delivered[]> {
  return rendered(kubectl, ['kustomize', folder.startsWith('/') ? folder : join(DEPLOY, folder)]);
}

/** What the chart gives. @param values each as `--set` takes it: `mode=split` */
export function charted(
  helm: string,
  values: readonly string[],
  namespace = 'system',
): Promise<readonly Delivered[]> {
  const sets = values.flatMap((value) => ['--set', value]);
  return rendered(helm, ['template', 'test', join(DEPLOY, 'helm'), '--namespace', namespace, ...sets]);
}

/** @throws Error with what the program says */
async function rendered(program: string, args: readonly string[]): Promise<readonly Delivered[]> {
  const { stdout } = await promisify(execFile)(program, [...args], { maxBuffer: 10_000_000 });
  return parseAllDocuments(stdout)
    .filter(({ contents }) => contents !== null)
    .map((document) => Delivered.parse(document.toJS()));
}
