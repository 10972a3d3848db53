import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Command, Option } from 'commander';
import { STATES } from '../../src/ask/state.ts';
import { candidates, completionsFor, cursorIn, namesIn } from '../../src/ask/completion.ts';
import type { Session } from '../../src/ask/session.ts';
import { configuredControllers } from '../../src/ask/controllers.ts';
import { durableOperator } from '../../src/controllers/index.ts';

function aProgram(): Command {
  const program = new Command();
  program
    .command('why')
    .description('explain')
    .option('-n, --namespace <name>', 'where')
    .option('--context <name>', 'of the kubeconfig')
    .addOption(new Option('-o, --output <format>', 'how').choices(['json', 'yaml']));
  program.command('pause').description('pause').option('-y, --yes', 'do not ask');
  program.command('get').option('--state <state>');
  return program;
}

/** What is offered at the end of the words, with a cluster that has these names. */
async function offered(words: readonly string[], names: readonly string[] = []): Promise<readonly string[]> {
  const client = {
    request: () =>
      Promise.resolve({
        metadata: {},
        items: names.map((name) => ({ metadata: { name, uid: 'u', resourceVersion: '1' } })),
      }),
  };
  // The part of a session that it needs.
  const session = { program: durableOperator, client, namespace: 'shop' } as unknown as Parameters<
    typeof namesIn
  >[0];
  const found = await candidates(
    configuredControllers(durableOperator),
    cursorIn(aProgram(), words),
    (kind) => namesIn(session, kind),
  );
  return found.map(({ value }) => value);
}

afterEach(() => {
  jest.useRealTimers();
});

describe('completion', () => {
  it.each([
    { words: [''], offers: ['why', 'pause', 'get'] },
    { words: ['why', ''], offers: ['pod', 'namespace', 'podset', 'xxx'] },
    { words: ['pause', ''], offers: ['pod', 'namespace', 'podset', 'xxx', 'controller'] },
    { words: ['why', '--'], offers: ['--namespace', '--context', '--output'] },
    { words: ['why', 'podset/web', '-o', ''], offers: ['json', 'yaml'] },
    {
      words: ['pause', 'controller/'],
      offers: ['pod-label', 'namespace-role-binding', 'pod-set', 'git-build'].map(
        (name) => `controller/${name}`,
      ),
    },
    { words: ['why', 'podset/web', ''], offers: [] },
    { words: ['get', '--state', ''], offers: STATES },
  ])('offers after "$words" what may follow', async ({ words, offers }) => {
    expect(await offered(words)).toEqual(offers);
  });

  it.each([
    { words: ['why', 'podset/'], offers: ['podset/web', 'podset/api'] },
    { words: ['why', '-n', 'shop', 'PodSet/w'], offers: ['PodSet/web', 'PodSet/api'] },
    { words: ['why', 'podset', ''], offers: ['web', 'api'] },
    { words: ['why', '-n', ''], offers: ['web', 'api'] },
  ])('asks the cluster for names: "$words"', async ({ words, offers }) => {
    expect(await offered(words, ['web', 'api'])).toEqual(offers);
  });

  it('is none, and closes its connection, when a person has waited long enough', async () => {
    jest.useFakeTimers();
    const never = new Promise<never>(() => undefined);
    const close = jest.fn(() => Promise.resolve());
    // The part of a session that it needs.
    const session = {
      program: durableOperator,
      client: { request: () => never },
      close,
    } as unknown as Session;
    const asking = { program: durableOperator, open: () => Promise.resolve(session) };
    const completions = completionsFor(aProgram(), asking, ['why', 'podset/']);
    await jest.advanceTimersByTimeAsync(1_500);
    expect(await completions).toBe(':4\n');
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('asks where the words say', () => {
    const optionsIn = (words: readonly string[]) => cursorIn(aProgram(), words).options;
    expect(optionsIn(['why', '-n', 'shop', '--context=prod', 'podset/'])).toEqual({
      namespace: 'shop',
      context: 'prod',
    });
    expect(optionsIn(['why', '-n=shop', 'podset/'])).toEqual({ namespace: 'shop' });
    expect(optionsIn(['why', 'podset', '-n', ''])).toEqual({});
  });
});
