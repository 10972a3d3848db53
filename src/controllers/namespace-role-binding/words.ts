import type { KubernetesObject } from '../../contract/object.ts';
import type { Advice, Ignored, Trouble, Words } from '../../contract/words.ts';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kinds.ts';
import { labelSelectorText } from '../label-selector.ts';
import { bindingNameFor, namespaceState, type Observation, type RoleBindingOptions } from './decide.ts';

/** What the commands say about the RoleBinding of a namespace. */
export function roleBindingWords(options: RoleBindingOptions): Words<Observation> {
  return {
    wanted: ({ observation: { bindingName } }) =>
      `RoleBinding ${bindingName}: Group ${bindingName} has ClusterRole ${options.clusterRole}`,
    there: ({ observation }) => whatIsThere(observation),
    advice: (trouble, namespace) => adviceOn(trouble, namespace, options),
    ignored: (namespace) => ignored(namespace, options),
  };
}

function whatIsThere({ binding, bindingName }: Observation): string {
  if (binding === undefined) return `no RoleBinding ${bindingName}`;
  switch (binding.state) {
    case 'being deleted':
      return `RoleBinding ${bindingName}, which is being deleted`;
    case 'up to date':
      return `that RoleBinding, which somebody else manages`;
    case 'ours, up to date':
      return 'that RoleBinding';
    case 'ours, with other subjects':
      return `RoleBinding ${bindingName}, with other subjects`;
    case 'ours, with another role':
      return `RoleBinding ${bindingName}, to ${binding.role}`;
    case 'foreign':
      return `RoleBinding ${bindingName} to ${binding.role}, which the operator does not manage`;
  }
}

function adviceOn(
  trouble: Trouble,
  { metadata: { name } }: KubernetesObject,
  options: RoleBindingOptions,
): readonly Advice[] | undefined {
  if (trouble.is === 'failing' && trouble.failure === 'AccessDenied') {
    return [
      `let the operator bind ClusterRole ${options.clusterRole} and write RoleBindings in namespace ${name}`,
    ];
  }
  if (trouble.is !== 'stalled') return undefined;
  const binding = `rolebinding ${bindingNameFor(name, options)} -n ${name}`;
  return [
    'give it to the operator, or delete it: whoever has access by it loses that access',
    { run: `kubectl get ${binding} -o yaml`, to: 'see whom it gives access' },
    { run: `kubectl label ${binding} ${MANAGED_BY_LABEL}=${MANAGED_BY}`, to: 'let the operator change it' },
    { run: `kubectl delete ${binding}`, to: 'let the operator create its own' },
  ];
}

/** One that left the selector may still have to be released: its binding says so, not the namespace. */
function ignored({ metadata }: KubernetesObject, options: RoleBindingOptions): Ignored | undefined {
  const { excludeNamespaces, namespaceSelector } = options;
  if (namespaceState(metadata, options) !== 'unselected') return undefined;
  return excludeNamespaces.includes(metadata.name)
    ? {
        because:
          'namespace-role-binding leaves this namespace out (--exclude-namespaces); other controllers work in it',
        advice: ['remove it from --exclude-namespaces, and restart the operator'],
      }
    : {
        because: `the labels of the namespace do not match ${labelSelectorText(namespaceSelector)} (--namespace-selector)`,
        advice: ['give the namespace these labels; that is noticed at once'],
      };
}
