/** What people ask of the operator, with what `--help` says of each command. */
export const ASK_COMMANDS = {
  get: 'list resources with their state: up to date, retrying, stalled, ...',
  why: 'explain why a resource, or everything, is not well, and what you can do',
  history: 'show every reconcile of a resource, as far back as Temporal keeps it',
  plan: 'show what a reconcile would write, without writing it',
  retry: 'end backoffs and try again now',
  reconcile: 'reconcile a resource now',
  pause: 'write nothing for a resource, a namespace or a controller until it is resumed',
  resume: 'end a pause',
  approve: 'allow what a resource is to delete',
  reject: 'refuse what a resource is to delete',
  'uninstall-check': 'list what would hang without the operator, before it is uninstalled',
} as const;

export type AskCommand = keyof typeof ASK_COMMANDS;

export function isAskCommand(word: string | undefined): word is AskCommand {
  return word !== undefined && Object.hasOwn(ASK_COMMANDS, word);
}

export const ASK_COMMAND_NAMES: readonly AskCommand[] = Object.keys(ASK_COMMANDS).filter(isAskCommand);
