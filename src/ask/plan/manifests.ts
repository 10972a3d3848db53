import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { AskProblem } from '../ask.ts';

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
});
export type Manifest = z.infer<typeof Manifest>;

/** As `kubectl get -o yaml` prints more than one object. */
const List = z.object({ kind: z.literal('List'), items: z.array(z.unknown()) });

/** @param file `-`: standard input @throws AskProblem */
export async function manifestsIn(file: string): Promise<readonly Manifest[]> {
  const content = await (file === '-' ? readAll(process.stdin) : readFile(file, 'utf8')).catch(
    (error: unknown) => {
      throw new AskProblem(
        `${file}: ${error instanceof Error ? error.message : String(error)}; name a readable file`,
      );
    },
  );
  return parseManifests(content, file);
}

/** @throws AskProblem */
export function parseManifests(content: string, file: string): readonly Manifest[] {
  const documents = [...parseAllDocuments(content)].filter(
    (document) => document.errors.length > 0 || document.toJS() !== null,
  );
  const manifests = documents.flatMap((document, index) => {
    const [error] = document.errors;
    const words = error?.message.split('\n', 1)[0]?.replace(/:$/, '');
    if (words !== undefined) throw new AskProblem(`${file}: ${words}; correct the file`);
    const value: unknown = document.toJS();
    const { data: list } = List.safeParse(value);
    const which = `document ${index + 1}`;
    if (list === undefined) return [manifestFrom(value, `${file}: ${which}`)];
    return list.items.map((item, number) => manifestFrom(item, `${file}: ${which}, item ${number + 1}`));
  });
  if (manifests.length === 0) throw new AskProblem(`${file}: there is nothing in it; name another file`);
  return manifests;
}

/** @throws AskProblem */
function manifestFrom(content: unknown, where: string): Manifest {
  const { data } = Manifest.safeParse(content);
  if (data !== undefined) return data;
  throw new AskProblem(`${where} needs apiVersion, kind and metadata.name; correct the file`);
}
