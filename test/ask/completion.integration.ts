import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { ASK_PROGRAM } from '../support/asking.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(60_000);

const { stack, cluster } = setUpStage();
const ZSH = ['/bin/zsh', '/usr/bin/zsh'].find((file) => existsSync(file));

/**
 * A zsh of its own, with a terminal and its line editor: it reads what is typed, a tab completes it, and Ctrl-X leaves in a
 * file what the line is by then.
 */
const DRIVER = `
  zmodload zsh/zpty
  zpty shell zsh -f -i
  say() { zpty -w shell "$1"; }
  say 'autoload -Uz compinit && compinit -u -D'
  say 'source <(kubectl-durable completion zsh)'
  say 'leave() { print -r -- "$BUFFER" > "$LINE"; print -r -- DO"NE"; BUFFER= }; zle -N leave; bindkey "^X" leave'
  say 'print -r -- REA"DY"'
  zpty -r shell ignored '*READY*'
  zpty -w -n shell "$TYPED"$'\\t'$'\\x18'
  zpty -r shell ignored '*DONE*'
  zpty -d shell
  cat "$LINE"`;

// It is in every distribution, but not on every machine.
(ZSH === undefined ? describe.skip : describe)('zsh', () => {
  let directory: string;
  let namespace: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(stack.dir, 'zsh-'));
    // As npm and krew do.
    await chmod(ASK_PROGRAM, 0o755);
    await symlink(ASK_PROGRAM, join(directory, 'kubectl-durable'));
    namespace = await cluster.aNamespace();
    await cluster.create(POD_SETS, aPodSet().in(namespace).named('web').wanting(0).manifest);
  });

  /** The line, once it is completed. */
  function completed(typed: string): string {
    const env = {
      PATH: `${directory}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      HOME: directory,
      LINE: join(directory, 'line'),
      KUBECONFIG: stack.kubeconfig,
      TEMPORAL_ADDRESS: stack.temporalAddress,
      TYPED: typed,
    };
    return execFileSync(ZSH ?? '', ['-f', '-c', DRIVER], { env, encoding: 'utf8', timeout: 30_000 }).trim();
  }

  it.each([
    ['kubectl-durable wh', 'kubectl-durable why'],
    ['kubectl-durable why pods', 'kubectl-durable why podset'],
    ['kubectl-durable get --outp', 'kubectl-durable get --output'],
    ['kubectl-durable retry --step createJ', 'kubectl-durable retry --step createJob'],
  ])('completes "%s"', (typed, line) => {
    expect(completed(typed)).toBe(line);
  });

  it('completes the name of a resource, which the cluster knows', () => {
    expect(completed(`kubectl-durable why -n ${namespace} podset/w`)).toBe(
      `kubectl-durable why -n ${namespace} podset/web`,
    );
  });
});
