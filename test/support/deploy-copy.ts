import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A copy of deploy/, to which a test adds what a person would write beside it. @returns its path; whoever asked removes it */
export async function copyOfDeploy(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'durable-operator-deploy-'));
  await cp(join(import.meta.dirname, '../../deploy'), copy, { recursive: true });
  return copy;
}

/**
 * Adds a kustomization that includes another.
 *
 * @param folder of it, in the copy
 * @param included the other, in the copy as well: `overlays/split`
 * @param more lines of its kustomization.yaml
 */
export async function addKustomization(
  copy: string,
  folder: string,
  { included, more }: { readonly included: string; readonly more: string },
): Promise<void> {
  await mkdir(join(copy, folder));
  const text = `resources: [${join(...folder.split('/').map(() => '..'), included)}]\n${more}`;
  await writeFile(join(copy, folder, 'kustomization.yaml'), text);
}
