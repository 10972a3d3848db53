import type { Config } from '../src/config/config.ts';

/** Whoever sits before the terminal, if anybody does. */
export interface Person {
  readonly isThere: boolean;
  /** Resolves to false where it is refused or interrupted. */
  readonly confirms: (question: string) => Promise<boolean>;
}

/**
 * A cluster that was given may be one that others use, and KUBECONFIG may be set for other reasons. On a terminal, a person
 * has to agree to what the command does there; without one, it was meant.
 */
export async function isAgreed(config: Config, server: () => string, person: Person): Promise<boolean> {
  if (!config.local.kubernetesGiven || !person.isThere) return true;
  return person.confirms(questionFor(config, server()));
}

function questionFor({ reconciliation, roleBinding }: Config, server: string): string {
  const { controllers, namespaces } = reconciliation;
  const where = namespaces.length === 0 ? 'in all namespaces' : `in ${namespaces.join(', ')}`;
  const binds = controllers.includes('namespace-role-binding')
    ? `, where namespace-role-binding gives groups the ClusterRole ${roleBinding.clusterRole}`
    : '';
  return (
    `This uses ${server}. It applies the custom resource definitions and the samples, and runs ${controllers.join(', ')} ` +
    `${where}${binds}. Go on? (To stay on this machine: unset KUBECONFIG)`
  );
}

/** @returns who is at the terminal of this process */
export function personHere(signal: AbortSignal): Person {
  return {
    isThere: process.stdin.isTTY && process.stdout.isTTY,
    confirms: async (message) => {
      const { confirm } = await import('@clack/prompts');
      return (await confirm({ message, initialValue: false, signal })) === true;
    },
  };
}
