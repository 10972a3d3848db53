import { describe, expect, it } from '@jest/globals';
import { argumentsFor, defaultOptions, type CommandName } from '../../src/config/config.ts';
import { optionTable } from '../../src/config/option-table.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { configOf, SAMPLES } from '../support/configs.ts';

const COMMANDS: readonly CommandName[] = [
  'run',
  'watch',
  'work',
  'promote',
  'codec-server',
  'dev',
  'generate',
];

/** The samples that a command takes, as its arguments. */
function samplesFor(command: CommandName): string[] {
  const { rows } = optionTable(durableOperator);
  const taken = new Set(rows.filter(({ onlyFor = command }) => onlyFor === command).map(({ name }) => name));
  return SAMPLES.filter(({ name }) => taken.has(name)).map(({ name, text }) => `--${name}=${text}`);
}

describe('the arguments that are made of options', () => {
  it.each(COMMANDS)('give all of them back to %s', async (command) => {
    const config = await configOf({ args: [command, ...samplesFor(command)] });
    expect(await configOf({ args: argumentsFor(durableOperator, command, config) })).toEqual(config);
  });

  it('win over what the environment says', async () => {
    const env = { DURABLE_OPERATOR_NAMESPACES: 'other', DURABLE_OPERATOR_METRICS_SECURE: 'true' };
    expect(
      await configOf({ args: argumentsFor(durableOperator, 'run', defaultOptions(durableOperator)), env }),
    ).toEqual(await configOf({}));
  });

  it.each(['a!=b', 'a in (,b)', 'a,!b,c notin (d,e),f!='])('keep the selector %j', async (selector) => {
    const config = await configOf({ args: ['--namespace-selector', selector] });
    expect(argumentsFor(durableOperator, 'run', config)).toContain(`--namespace-selector=${selector}`);
  });
});
