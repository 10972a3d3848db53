import { describe, expect, it } from '@jest/globals';
import { asked } from '../support/ask-session.ts';

/** A server that never answers, and what a command that asks it has come to. */
function askingMute(words: readonly string[]) {
  const interrupted = new AbortController();
  let resolve: (value: undefined) => void;
  const isAsked = new Promise<undefined>((resolved) => (resolve = resolved));
  const mute = () => {
    resolve(undefined);
    return new Promise<never>(() => undefined);
  };
  let closed = 0;
  const onClose = () => void (closed += 1);
  const servers = { answerTo: mute, temporal: mute, onClose, signal: interrupted.signal };
  const answer = asked(words, servers).then((said) => ({ ...said, closed }));
  return { answer, isAsked, interrupt: () => interrupted.abort() };
}

describe('Ctrl-C', () => {
  it.each([[['why', 'podset/web']], [['get', '-A']], [['reconcile', 'podset/web']]])(
    'ends what is not done yet with status 130, at once: %j',
    async (words) => {
      const { answer, isAsked, interrupt } = askingMute(words);
      await isAsked;
      interrupt();
      expect(await answer).toEqual({ status: 130, stdout: '', stderr: '', closed: 1 });
    },
  );

  it.each([[['get', '-A', '--watch']], [['history', 'podset/web', '--follow']]])(
    'is how what goes on for ever is to end: %j',
    async (words) => {
      const { answer, isAsked, interrupt } = askingMute(words);
      await isAsked;
      interrupt();
      expect(await answer).toMatchObject({ status: 0, closed: 1 });
    },
  );
});
