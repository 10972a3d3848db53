/** Shows the demonstration to people. */
export interface Narrator {
  /** The next act begins. */
  act(title: string): void;
  say(line: string): void;
  /** Something that was shown has been checked. */
  checked(line: string): void;
  /** How far something is; the next of these takes its place. */
  progress(line: string): void;
  /** What a command has answered. */
  answered(command: string, output: string): void;
  /** The demonstration is over. */
  end(line: string): void;
}

/** Lines, one below the other: where there is no terminal. */
export function plainNarrator(write: (text: string) => unknown): Narrator {
  let act = 0;
  const line = (text: string) => write(`${text}\n`);
  return {
    act: (title) => line(`\n${(act += 1)}. ${title}`),
    say: (text) => line(`   ${text}`),
    checked: (text) => line(` ✓ ${text}`),
    progress: () => undefined,
    answered(command, output) {
      line(`   $ ${command}`);
      for (const text of output.trimEnd().split('\n')) line(`   │ ${text}`.trimEnd());
    },
    end: (text) => line(`\n${text}`),
  };
}

/** Shows it in several ways at once. */
export function allOf(narrators: readonly Narrator[]): Narrator {
  const each = (show: (narrator: Narrator) => void) => narrators.forEach(show);
  return {
    act: (title) => each((narrator) => narrator.act(title)),
    say: (line) => each((narrator) => narrator.say(line)),
    checked: (line) => each((narrator) => narrator.checked(line)),
    progress: (line) => each((narrator) => narrator.progress(line)),
    answered: (command, output) => each((narrator) => narrator.answered(command, output)),
    end: (line) => each((narrator) => narrator.end(line)),
  };
}
