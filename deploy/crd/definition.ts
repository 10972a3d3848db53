import { BEFORE_FIRST_RECONCILE } from './conditions.ts';
import type { ObjectSchema, Rule } from './schema.ts';

/** A column of `kubectl get`. With `priority: 1`, only `--output wide` has it. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly description: string;
  readonly jsonPath: string;
  readonly priority?: 1;
}

/** The scale subresource, for `kubectl scale` and autoscalers. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath: string;
}

export interface Definition<Spec, Status> {
  readonly group: string;
  readonly version: string;
  readonly names: {
    readonly kind: string;
    readonly plural: string;
    readonly singular: string;
    readonly shortNames: readonly string[];
  };
  readonly description: string;
  readonly spec: ObjectSchema<Spec>;
  readonly status: ObjectSchema<Status>;
  /** About the whole object. In its metadata, they see only `name` and `generateName`. */
  readonly rules?: readonly Rule[];
  readonly scale?: ScalePaths;
  readonly columns: readonly PrinterColumn[];
}

/** `kubectl get durable-operator` lists the resources of all kinds that are ours. */
const CATEGORY = 'durable-operator';

export const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: 'The time since its creation.',
  jsonPath: '.metadata.creationTimestamp',
};

export const READY: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  description: 'Whether it is in its desired state.',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
};

export const REASON: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  description: 'The reason why it is Ready, or not.',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
};

/** The manifest of a namespaced kind with a status. */
export function customResourceDefinition<Spec, Status>(definition: Definition<Spec, Status>) {
  const { group, names, scale, columns } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}` },
    spec: {
      group,
      names: { ...names, listKind: `${names.kind}List`, categories: [CATEGORY] },
      scope: 'Namespaced',
      versions: [
        {
          name: definition.version,
          served: true,
          storage: true,
          subresources: { status: {}, ...(scale && { scale }) },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: rootSchema(definition) },
        },
      ],
    },
  };
}

function rootSchema<Spec, Status>({ description, spec, status, rules }: Definition<Spec, Status>) {
  return {
    description,
    type: 'object',
    required: ['spec'],
    ...(rules && { 'x-kubernetes-validations': rules }),
    properties: {
      apiVersion: { description: 'The group and version of this representation.', type: 'string' },
      kind: { description: 'The kind of the resource.', type: 'string' },
      metadata: { type: 'object' },
      spec,
      // Without the default, kstatus would take a missing status for a current one.
      status: { ...status, default: BEFORE_FIRST_RECONCILE },
    },
  };
}
