import { z } from 'zod';
import { labelSelectorText, parseLabelSelector, type LabelSelector } from '../../api/index.ts';

const text = z.string().trim().min(1, 'is empty; write a value, or leave the option out');

/** A DNS label. Source: Kubernetes docs, "Object Names and IDs". */
const namespaceName = text
  .max(63, 'is longer than the 63 characters that a namespace name may have')
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'is not a namespace name; use lower-case letters, digits and "-", with a letter or digit at both ends',
  );

/** Any segment of a path. Source: k8s.io/apimachinery/pkg/api/validation/path, `IsValidPathSegmentName`. */
const clusterRoleName = text
  .max(253, 'is longer than the 253 characters that a ClusterRole name may have')
  .regex(
    /^(?!\.{1,2}$)[^/%\s\p{Cc}]+$/u,
    'is not a ClusterRole name; do not use "/", "%" or spaces, nor "." or ".." as the whole name',
  );

/** What precedes a namespace, of at most 63 characters, in the name of a RoleBinding, of at most 253. */
const bindingNamePrefix = z
  .string()
  .max(190, 'is longer than the 190 characters that leave room for a namespace in the name of a RoleBinding')
  .regex(/^[^/%\s\p{Cc}]*$/u, 'cannot begin the name of a RoleBinding; leave out "/", "%" and spaces');

const labelSelector = z.codec(
  z.string('is not a label selector; write one such as team=a,env in (dev,test)'),
  z.custom<LabelSelector>(),
  {
    decode: (selector, { issues }) => {
      try {
        return parseLabelSelector(selector);
      } catch (error) {
        const message = `is not valid: ${error instanceof Error ? error.message : String(error)}`;
        issues.push({ code: 'custom', message, input: selector });
        return z.NEVER;
      }
    },
    encode: labelSelectorText,
  },
);

export const ROLE_BINDING_OPTIONS = z.object({
  namespaceSelector: labelSelector.prefault('').meta({
    argument: 'selector',
    unset: 'all',
    description: 'bind only in namespaces with these labels, such as `team=a,env in (dev,test)`',
    docs: 'The syntax is that of `kubectl --selector`.',
  }),
  excludeNamespaces: z
    .array(namespaceName)
    .default(['kube-system', 'kube-public', 'kube-node-lease'])
    .meta({ argument: 'names', description: 'never bind in these namespaces' }),
  roleBindingClusterRole: clusterRoleName.default('edit').meta({
    argument: 'name',
    description: 'ClusterRole to bind; the operator must be allowed to `bind` it',
    docs: 'The generated role allows only `edit`.',
  }),
  roleBindingPrefix: bindingNamePrefix.default('ad-kubernetes-').meta({
    description: 'prefix of the names of RoleBinding and group, before the namespace',
  }),
});

/** The operator's options for this controller, parsed. */
export type RoleBindingOptions = Readonly<z.output<typeof ROLE_BINDING_OPTIONS>>;
