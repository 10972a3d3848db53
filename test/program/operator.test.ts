import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defaultOptions } from '../../src/config/config.ts';
import { chosenControllers } from '../../src/program/program.ts';
import { RunReader } from '../../src/temporal/run-reader.ts';
import { asked, aTemporal } from '../support/ask-session.ts';
import { publishedWebsite } from '../support/website.ts';
import { shopOperator as program } from '../support/shop-operator.ts';

class NoRuns extends RunReader {
  override listOpen = () => Promise.resolve([]);
  override ofPlace = () => Promise.resolve([]);
  override describe = () => Promise.resolve(undefined);
}

const NO_RUNS = new NoRuns({
  namespace: 'default',
  call: () => Promise.reject(new Error('it is not asked')),
});
const MAIN = join(import.meta.dirname, '../support/shop-operator.ts');

describe('a program with a controller of its own', () => {
  it('has its own name and controllers in its help, and options of no other controller', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '--help'], { env: {} });
    const help = stdout.replaceAll(/\s+/g, ' ');
    expect(help).toContain('Usage: shop-operator [command] [options]');
    expect(help).toContain('run only these controllers (default: shelf)');
    expect(help).toContain('name of the Lease (default: shop-operator)');
    expect(help).toContain('task queue of watcher and workers (default: shop-operator)');
    expect(help).not.toMatch(/git-build|namespace-role-binding/);
  });

  it.each(['why', 'get'])('answers %s about its kinds, and about no others', async (command) => {
    const { stderr, status } = await asked([command, 'podset/web'], { program });
    expect(stderr).toContain('the operator has no controller for "podset"; the kinds are shelf');
    expect(status).toBe(2);
  });

  it('names itself in help and advice, as people call it', async () => {
    const { stdout } = await asked(['why', '--help'], { program });
    expect(stdout).toContain('Usage: shop-operator why');
    const { stderr } = await asked(['why', '--nonsense'], { program });
    expect(stderr).toMatch(/^shop-operator: .*see shop-operator why --help/);
  });

  it('looks for its own operator in Temporal', async () => {
    const { stdout } = await asked(['why', '--help'], { program });
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('task queue (default: shop-operator, or');
  });

  it('shows the Events of its own operator alone', async () => {
    const eventOf = (operator: string) => ({
      ...{ type: 'Normal', reason: 'Stood', note: `said by ${operator}`, eventTime: '2026-01-01T11:00:00Z' },
      reportingController: `${operator}/shelf`,
      metadata: { uid: operator },
      regarding: { uid: 'u' },
    });
    const metadata = { namespace: 'shop', name: 'top', uid: 'u', resourceVersion: '1' };
    const items = ['shop-operator', 'durable-operator'].map(eventOf);
    const { stdout } = await asked(['history', 'shelf/top'], {
      program,
      temporal: () => Promise.resolve(aTemporal({ runs: NO_RUNS })),
      answerTo: ({ path }) => (path.endsWith('/events') ? { metadata: {}, items } : { metadata }),
    });
    expect(stdout).toContain('said by shop-operator');
    expect(stdout).not.toContain('said by durable-operator');
  });

  it('refuses some namespaces for a controller whose objects are in others, unless it is left out', () => {
    const website = {
      name: 'website-operator',
      controllers: [publishedWebsite],
    };
    const { reconciliation, ...options } = defaultOptions(website);
    const chosen = (namespaces: readonly string[], controllers = ['website']) =>
      chosenControllers(website, {
        ...options,
        reconciliation: { ...reconciliation, namespaces, controllers },
      });
    const sentence = 'controller website has objects in other namespaces than its resources';
    expect(() => chosen(['shop'])).toThrow(sentence);
    expect(chosen(['shop'], [])).toEqual([]);
    expect(chosen([])).toHaveLength(1);
  });

  it('gets resources of its kinds alone', async () => {
    const paths: string[] = [];
    const answerTo = ({ path }: { readonly path: string }) => {
      paths.push(path);
      const metadata = { namespace: 'shop', name: 'top', uid: 'u', resourceVersion: '1', generation: 1 };
      const status = { observedGeneration: 1 };
      return { metadata: {}, items: path.endsWith('/shelves') ? [{ metadata, status }] : [] };
    };
    const temporal = () => Promise.resolve(aTemporal({ runs: NO_RUNS }));
    const { stdout } = await asked(['get'], { program, temporal, answerTo });
    expect(stdout).toContain('shelf/top');
    expect(paths.filter((path) => path.startsWith('/apis'))).toEqual([
      '/apis/shop.io/v1/namespaces/shop/shelves',
    ]);
  });
});
