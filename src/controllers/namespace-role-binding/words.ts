import type { KubernetesObject } from '../../contract/object.ts';
import type { Ignored, Words } from '../../contract/words.ts';
import { labelSelectorText } from '../../api/label-selector.ts';
import { namespaceState, type Observation, type RoleBindingOptions } from './decide.ts';

/** What the commands say about the RoleBinding of a namespace. */
export function roleBindingWords(options: RoleBindingOptions): Words<Observation> {
  return {
    wanted: ({ observation: { bindingName } }) =>
      `RoleBinding ${bindingName}: Group ${bindingName} has ClusterRole ${options.clusterRole}`,
    there: ({ observation }) => whatIsThere(observation),
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
