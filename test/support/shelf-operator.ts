import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { allow, CONFIG_MAPS, defineController, defineKind, operator } from '../../src/index.ts';

/** Fills a shelf book by book, which takes a while: a book is a ConfigMap. */
export const Shelf = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Shelf', plural: 'shelves', description: 'A shelf.' },
  spec: z.object({
    books: z.int(),
    hangsAt: z
      .int()
      .optional()
      .meta({ description: 'At which book the first attempt hangs, whatever it is asked.' }),
    edition: z.int().meta({ description: 'Decides nothing.' }),
  }),
});

export const BOOK_OF = 'example.com/shelf';
const MS_EACH = 40;
const HANGS_MS = 30_000;
let hasHung = false;

const shelf = defineController({
  name: 'shelf',
  for: Shelf,
  permissions: [allow(CONFIG_MAPS, ['list', 'create'])],
  // They are not watched: each would be a change of the shelf.
  observe({ resource: { metadata }, kube }) {
    const { namespace = '', name } = metadata;
    const selection = { namespace, labelSelector: `${BOOK_OF}=${name}` };
    return kube.list(CONFIG_MAPS, selection, (book) => book.metadata.name);
  },
  steps: {
    fill: {
      summary: 'fill the shelf',
      external: false,
      writes: () => 100,
      run: async ({ resource: { metadata, spec }, observed, kube, progress, signal }) => {
        const { namespace, name } = metadata;
        for (let book = 0; book < spec.books; book += 1) {
          if (observed.includes(`${name}-${book}`)) continue;
          if (book === spec.hangsAt && !hasHung) {
            hasHung = true;
            await delay(HANGS_MS);
          }
          signal.throwIfAborted();
          await kube.create(CONFIG_MAPS, {
            metadata: { namespace, name: `${name}-${book}`, labels: { [BOOK_OF]: name } },
          });
          progress('put up a book');
          await delay(MS_EACH);
        }
        return 'filled the shelf';
      },
    },
  },
  decide: ({ resource: { spec }, observed }, next) =>
    observed.length < spec.books ? next.do.fill('books are missing') : next.converged('it is full'),
});

if (import.meta.main) await operator({ name: 'shelf-operator', controllers: [shelf] }).main();
