import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TemporalProblem } from '../../src/temporal/temporal-problem.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { asked } from '../support/ask-session.ts';

const ROOT = join(import.meta.dirname, '../..');
const AWAY = 'nobody answers in this test';

/** What people are told to type, wherever it is: in a page, or in an answer. */
const COMMANDS = [
  ...new Set(
    ['README.md', ...filesIn('docs', '.md'), ...filesIn('test/e2e/golden', '.txt')].flatMap((file) =>
      commandsIn(readFileSync(join(ROOT, file), 'utf8')),
    ),
  ),
];

function filesIn(folder: string, extension: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(extension)).map((name) => join(folder, name));
}

/** Up to the column of what it does, the end of the code, or of the line; a command in a sentence may be its name alone. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/\bkubectl durable (\w[^\n`]*)/g)]
    .map(([, command = '']) => (command.split(/ {2,}/, 1)[0] ?? '').trim())
    .filter((command) => command.includes(' ') && !command.includes('KIND/NAME'));
}

function wordsIn(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** Nobody answers, so a command gets as far as its words are understood. @returns that, or what is wrong with them */
async function saidOf(command: string): Promise<string> {
  const { stdout, stderr } = await asked(wordsIn(command), {
    temporal: () => Promise.reject(new TemporalProblem(AWAY)),
    answerTo: () => new ApiError(AWAY, { classification: 'unavailable' }),
  });
  return stdout + stderr;
}

describe('a command that people are told to type', () => {
  it('is in the pages and in the answers', () => {
    expect(COMMANDS.length).toBeGreaterThan(20);
  });

  it.each(COMMANDS)('is understood: %s', async (command) => {
    expect(await saidOf(command)).toContain(AWAY);
  });
});
