import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defaultOptions } from '../../src/config/config.ts';
import { asked, aTemporal } from '../support/ask-session.ts';
import { shopOperator as program } from '../support/shop-operator.ts';

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

  it('has a value for every option, also for those that it does not show', () => {
    expect(defaultOptions(program)).toMatchObject({
      reconciliation: { controllers: ['shelf'] },
      build: { hostDir: '/opt' },
    });
  });

  it.each(['why', 'get'])('answers %s about its kinds, and about no others', async (command) => {
    const { stderr, status } = await asked([command, 'podset/web'], { program });
    expect(stderr).toContain('the operator has no controller for "podset"; the kinds are shelf');
    expect(status).toBe(2);
  });

  it('gets resources of its kinds alone', async () => {
    const paths: string[] = [];
    const answerTo = ({ path }: { readonly path: string }) => {
      paths.push(path);
      const metadata = { namespace: 'shop', name: 'top', uid: 'u', resourceVersion: '1', generation: 1 };
      const status = { observedGeneration: 1 };
      return { metadata: {}, items: path.endsWith('/shelves') ? [{ metadata, status }] : [] };
    };
    const runs = aTemporal().runs;
    runs.listOpen = () => Promise.resolve([]);
    const temporal = () => Promise.resolve(aTemporal({ runs }));
    const { stdout } = await asked(['get'], { program, temporal, answerTo });
    expect(stdout).toContain('shelf/top');
    expect(paths.filter((path) => path.startsWith('/apis'))).toEqual([
      '/apis/shop.io/v1/namespaces/shop/shelves',
    ]);
  });
});
