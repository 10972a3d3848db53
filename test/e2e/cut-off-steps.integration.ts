import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { CONFIG_MAPS } from '../../src/api/built-in.ts';
import { eventually } from '../../testing/eventually.ts';
import { endOperators } from '../support/operator.ts';
import { setUpProgram } from '../support/programs.ts';
import { BOOK_OF, Shelf } from '../support/shelf-operator.ts';

jest.setTimeout(240_000);

const WITHIN_MS = 90_000;
const BOOKS = 100;
const MISSING = 'last writes may be missing';

const { cluster, start, ask } = setUpProgram({ file: 'shelf-operator.ts', kinds: [Shelf] });

afterEach(endOperators);

/** A shelf of a hundred books, with so many of them put up. */
async function aShelfBeingFilled(books: number, more: { readonly hangsAt?: number } = {}) {
  const namespace = await cluster.aNamespace();
  const at = { type: Shelf, namespace, name: 'oak' };
  const spec = { books: BOOKS, edition: 1, ...more };
  const metadata = { namespace, name: at.name };
  await cluster.create(Shelf, { apiVersion: 'example.com/v1', kind: 'Shelf', metadata, spec });
  const count = async () => (await cluster.list(CONFIG_MAPS, { namespace, labelSelector: BOOK_OF })).length;
  const thereNow = await eventually(async () => {
    const there = await count();
    return there >= books && there;
  }, WITHIN_MS);
  const history = async () => {
    await eventually(async () => (await count()) === BOOKS, WITHIN_MS);
    return eventually(async () => {
      const text = await ask('history', 'shelf/oak', '-n', namespace);
      return text.includes('completed') && text;
    }, WITHIN_MS);
  };
  return { thereNow, history, change: () => cluster.patch(at, { spec: { edition: 2 } }) };
}

function putUpIn(history: string): number {
  return Math.max(
    0,
    ...[...history.matchAll(/put up a book (\d+) times/g)].map(([, times]) => Number(times)),
  );
}

describe('the history of a step that did not come to its end', () => {
  it('has what it did until its last heartbeat, and that more may be missing, where its worker was killed', async () => {
    const operator = await start();
    const { history } = await aShelfBeingFilled(60);
    await operator.end('SIGKILL');
    await start();
    const text = await history();
    expect(text).toContain(MISSING);
    // In the second since its last heartbeat it put up 25 books at most.
    expect(putUpIn(text)).toBeGreaterThan(30);
  });

  it('has all that it did where a change has asked it to end', async () => {
    await start();
    const { thereNow, change, history } = await aShelfBeingFilled(20);
    await change();
    const text = await history();
    expect(text).not.toContain(MISSING);
    expect(putUpIn(text)).toBeGreaterThanOrEqual(thereNow);
  });

  it('says that its last writes may be missing where it was asked to end, and did not', async () => {
    await start();
    const { change, history } = await aShelfBeingFilled(10, { hangsAt: 15 });
    await change();
    expect(await history()).toContain(MISSING);
  });
});
