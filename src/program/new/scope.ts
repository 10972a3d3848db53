/** From the template of a kind in namespaces to that of one without: its objects are in a namespace that its spec names. */
export const CLUSTER_SCOPED: readonly (readonly [from: string, to: string])[] = [
  ["  kind: 'Website',\n", "  kind: 'Website',\n  namespaced: false,\n"],
  [
    '  spec: z.object({\n',
    "  spec: z.object({\n    namespace: z.string().default('default').meta({ description: 'Where its objects are.' }),\n",
  ],
  // What declares objects.
  [
    'status: ({ resource: { metadata } }) => ({ url: `http://${metadata.name}.${metadata.namespace}.svc` })',
    'status: ({ resource: { metadata, spec } }) => ({ url: `http://${metadata.name}.${spec.namespace}.svc` })',
  ],
  [
    'export function deployment({ metadata: { name }, spec: { image, replicas } }: ResourceOf<typeof Website>) {',
    'export function deployment({ metadata, spec }: ResourceOf<typeof Website>) {\n  const { name } = metadata;\n  const { namespace, image, replicas } = spec;',
  ],
  ['metadata: { name, labels },', 'metadata: { name, namespace, labels },'],
  [
    'service({ metadata: { name } }: ResourceOf<typeof Website>)',
    'service({ metadata: { name }, spec: { namespace } }: ResourceOf<typeof Website>)',
  ],
  ['    metadata: { name },\n', '    metadata: { name, namespace },\n'],
  // What decides.
  [
    'observe: ({ resource: { metadata }, kube }) => kube.get<Page>({ ...metadata, type: CONFIG_MAPS }),',
    'observe: ({ resource: { metadata, spec }, kube }) =>\n    kube.get<Page>({ name: metadata.name, namespace: spec.namespace, type: CONFIG_MAPS }),',
  ],
  [
    'const { name, namespace } = resource.metadata;',
    'const { name } = resource.metadata;\n        const { namespace } = resource.spec;',
  ],
  [
    '{ ...metadata, type: CONFIG_MAPS },\n          {',
    '{ name: metadata.name, namespace: spec.namespace, type: CONFIG_MAPS },\n          {',
  ],
  // Tests and samples.
  ["{ name: 'shop', namespace: 'default', uid", "{ name: 'shop', uid"],
  ['  namespace: default\n', ''],
];

export function clusterScoped(text: string): string {
  return CLUSTER_SCOPED.reduce((its, [from, to]) => its.replaceAll(from, () => to), text);
}
