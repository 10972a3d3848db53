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
export type PlanManifest = z.infer<typeof Manifest>;

/** `kubectl get -o yaml` prints several objects as one. */
const List = z.object({ kind: z.literal('List'), items: z.array(z.unknown()) });

/** @param file `-`: standard input @throws AskProblem */
export async function manifestsOfFile(file: string): Promise<readonly PlanManifest[]> {
  const reading = file === '-' ? readAll(process.stdin) : readFile(file, 'utf8');
  const content = await reading.catch((error: unknown) => {
    const words = error instanceof Error ? error.message : String(error);
    throw new AskProblem(`${file}: ${words}; name a readable file`);
  });
  return parseManifests(content, file);
}

/** @throws AskProblem, also where there is none */
export function parseManifests(content: string, file: string): readonly PlanManifest[] {
  const manifests = manifestsIn(content, file);
  if (manifests.length === 0) throw new AskProblem(`${file}: it is empty; name another file`);
  return manifests;
}

/** As `kubectl apply -f` takes them. @throws AskProblem */
export function manifestsIn(content: string, file: string): readonly PlanManifest[] {
  const documents = [...parseAllDocuments(content)].filter(
    (document) => document.errors.length > 0 || document.toJS() !== null,
  );
  return documents.flatMap((document, index) => {
    const words = document.errors[0]?.message.split('\n', 1)[0]?.replace(/:$/, '');
    if (words !== undefined) throw new AskProblem(`${file}: ${words}; correct the file`);
    const value: unknown = document.toJS();
    const list = List.safeParse(value).data;
    const where = `${file}: document ${index + 1}`;
    if (list === undefined) return [manifestFrom(value, where)];
    return list.items.map((item, number) => manifestFrom(item, `${where}, item ${number + 1}`));
  });
}

function manifestFrom(content: unknown, where: string): PlanManifest {
  const { data } = Manifest.safeParse(content);
  if (data !== undefined) return data;
  throw new AskProblem(`${where} needs apiVersion, kind and metadata.name; correct the file`);
}
