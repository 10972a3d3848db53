import { z } from 'zod';
import type { ResourceType } from './resource-type.ts';
import { misnamed, REASON, refuse } from './limits.ts';
import { structuralSchema, type StructuralSchema } from './structural-schema.ts';

/** A rule in CEL. Its message says what is wrong, and what to do. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
}

/** A column of `kubectl get`. With `priority: 1`, only `--output wide` has it. */
export interface PrinterColumn {
  readonly name: string;
  /** Default: `string`. */
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly description?: string;
  /** A JSONPath: `.status.url`. */
  readonly path: string;
  readonly priority?: 1;
}

/** The scale subresource, for `kubectl scale` and autoscalers: JSONPaths. */
export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly labelSelector: string;
}

/** What an author says of a kind. */
export interface KindDefinition<Spec extends z.ZodObject, Status extends z.ZodObject> {
  /**
   * A domain in lower case, with a dot, at most 189 characters: `example.com`. One of `k8s.io` or `kubernetes.io` needs the annotation
   * `api-approved.kubernetes.io`.
   */
  readonly group: string;
  /** Lower-case letters, digits and `-`, with a letter first, at most 63 characters: `v1`. */
  readonly version: string;
  /** In CamelCase, at most 59 characters, without `List` at the end: `Website`. */
  readonly kind: string;
  /** As a version may be: `websites`. Default: the kind in lower case, with an `s`. */
  readonly plural?: string;
  /** As a version may be: `web`. */
  readonly shortNames?: readonly string[];
  /** `kubectl get` lists the resources of all kinds of a category, which is named as a version may be: `all`. */
  readonly categories?: readonly string[];
  /** Default: true. */
  readonly namespaced?: boolean;
  /** Of the CustomResourceDefinition. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Likewise. */
  readonly labels?: Readonly<Record<string, string>>;
  /** For `kubectl explain`. */
  readonly description: string;
  readonly spec: Spec;
  /**
   * The author's own fields. `conditions`, `observedGeneration`, `lastHandledReconcileAt` and `lastHandledApproval` are the library's. Default:
   * none.
   */
  readonly status?: Status;
  /** Of the library's conditions. */
  readonly conditions?: string;
  /** Beside `Ready`, `Reason` and `Age`; one of such a name stands for it. */
  readonly columns?: readonly PrinterColumn[];
  readonly scale?: ScalePaths;
  /**
   * In CEL, about the whole object: `{ rule: 'self.spec.size >= oldSelf.spec.size', message: 'it cannot shrink' }`. With `oldSelf`, a rule
   * is about changes. Of its metadata, rules see `name` and `generateName` alone. The API server checks the text of a rule, nobody before.
   */
  readonly rules?: readonly Rule[];
}

/** A kind: one description, from which its CustomResourceDefinition, its types and its parser follow. */
export interface Kind<Spec extends z.ZodObject, Status extends z.ZodObject> extends ResourceType {
  readonly spec: Spec;
  readonly status: Status;
  /** The manifest for `kubectl apply`. */
  readonly manifest: CustomResourceDefinition;
}

/** Any kind that {@link defineKind} has made. */
export type AnyKind = Kind<z.ZodObject, z.ZodObject>;

/** Whether {@link defineKind} has made it. */
export function isKind(type: ResourceType): type is AnyKind {
  return 'manifest' in type;
}

/** The type of `spec` of a kind: `SpecOf<typeof Website>`. */
export type SpecOf<K extends { readonly spec: z.ZodType }> = z.infer<K['spec']>;
/** The type of the author's fields in `status`. */
export type StatusOf<K extends { readonly status: z.ZodType }> = z.infer<K['status']>;

/** Source: apiextensions.k8s.io/v1, as far as it is written here. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: object;
}

/**
 * Describes a kind once.
 *
 * @example
 * const Website = defineKind({
 *   group: 'example.com',
 *   version: 'v1',
 *   kind: 'Website',
 *   description: 'A website, served by a Deployment behind a Service.',
 *   spec: z.object({ image: z.string().meta({ description: 'The image that serves it.' }) }),
 * });
 * @throws NotStructural where the schema says what a CustomResourceDefinition cannot
 * @throws Error in one sentence that says what is allowed, where a name is out of its limits, or a field of the status is the library's
 */
export function defineKind<Spec extends z.ZodObject, Status extends z.ZodObject = z.ZodObject>(
  definition: KindDefinition<Spec, Status>,
): Kind<Spec, Status> {
  const { group, version, kind, namespaced = true, shortNames, spec } = definition;
  const plural = definition.plural ?? `${kind.toLowerCase()}s`;
  // Without a status, `Status` is its default: any object.
  const status = definition.status ?? (z.object({}) as unknown as Status);
  checkKind({ ...definition, plural, status });
  const type = { group, version, plural, kind, namespaced, ...(shortNames && { shortNames }) };
  return { ...type, spec, status, manifest: manifestOf(definition, type, status) };
}

/** @throws Error where the API server would refuse it, or the library would overwrite a field */
function checkKind(checked: Checked): void {
  const { group, version, kind, plural, shortNames, categories, status, annotations } = checked;
  const own = Object.keys(commonStatus());
  const taken = Object.keys(status.shape).find((field) => own.includes(field));
  refuse(`kind ${kind}`, [
    misnamed(annotations?.['api-approved.kubernetes.io'] === undefined ? 'group' : 'approvedGroup', group),
    misnamed('version', version),
    misnamed('kind', kind),
    misnamed('plural', plural),
    ...(shortNames ?? []).map((each) => misnamed('shortName', each)),
    ...(categories ?? []).map((each) => misnamed('category', each)),
    taken !== undefined &&
      `status.${taken} must have another name, since the library writes ${own.join(', ')}`,
  ]);
}

type Checked = Omit<KindDefinition<z.ZodObject, z.ZodObject>, 'spec'> & { readonly status: z.ZodObject };

const COLUMNS: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    description: 'Whether it is in its desired state.',
    path: '.status.conditions[?(@.type=="Ready")].status',
  },
  {
    name: 'Reason',
    description: 'The reason why it is Ready, or not.',
    path: '.status.conditions[?(@.type=="Ready")].reason',
  },
  {
    name: 'Age',
    type: 'date',
    description: 'The time since its creation.',
    path: '.metadata.creationTimestamp',
  },
];

function manifestOf<Spec extends z.ZodObject, Status extends z.ZodObject>(
  definition: KindDefinition<Spec, Status>,
  { group, plural, kind, namespaced }: ResourceType,
  status: Status,
): CustomResourceDefinition {
  const { version, shortNames = [], categories, columns = [], scale, annotations, labels } = definition;
  const usual = COLUMNS.filter(
    ({ name }) => !columns.some((own) => own.name.toLowerCase() === name.toLowerCase()),
  );
  const wide = columns.filter(({ priority }) => priority === 1);
  const narrow = columns.filter(({ priority }) => priority === undefined);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...(annotations && { annotations }),
      ...(labels && { labels }),
    },
    spec: {
      group,
      names: {
        ...{ kind, plural, singular: kind.toLowerCase(), shortNames, listKind: `${kind}List` },
        ...(categories && { categories }),
      },
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {}, ...(scale && { scale: scaleOf(scale) }) },
          additionalPrinterColumns: [...narrow, ...usual, ...wide].map(columnOf),
          schema: { openAPIV3Schema: rootSchema(definition, status) },
        },
      ],
    },
  };
}

function columnOf({ name, type = 'string', description, path, priority }: PrinterColumn) {
  return { name, type, ...(description && { description }), jsonPath: path, ...(priority && { priority }) };
}

function scaleOf({ specReplicas, statusReplicas, labelSelector }: ScalePaths) {
  return {
    specReplicasPath: specReplicas,
    statusReplicasPath: statusReplicas,
    labelSelectorPath: labelSelector,
  };
}

function rootSchema<Spec extends z.ZodObject, Status extends z.ZodObject>(
  { kind, description, spec, rules, conditions }: KindDefinition<Spec, Status>,
  status: Status,
): StructuralSchema {
  // It begins without any of them.
  const full = status
    .partial()
    .extend(commonStatus(conditions))
    .meta({
      description: 'The observed state. The operator writes it.',
      ...status.meta(),
    });
  return {
    description,
    type: 'object',
    required: ['spec'],
    ...(rules && { 'x-kubernetes-validations': rules }),
    properties: {
      apiVersion: { description: 'The group and version of this representation.', type: 'string' },
      kind: { description: 'The kind of the resource.', type: 'string' },
      metadata: { type: 'object' },
      spec: structuralSchema(spec, `${kind} spec`),
      // Without the default, kstatus would take a missing status for a current one. As in Flux.
      status: { ...structuralSchema(full, `${kind} status`), default: { observedGeneration: -1 } },
    },
  };
}

/** An annotation may hold 256 KiB, so the status has only its beginning. */
const ECHO_MAX = 1024;

function commonStatus(conditions = 'Ready, Stalled and Reconciling, as kstatus reads them.') {
  return {
    observedGeneration: z.int().min(-1).optional().meta({
      description: 'The metadata.generation that this status is about; -1 before the first reconcile.',
    }),
    conditions: z
      .array(Condition)
      .optional()
      .meta({
        description: conditions,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    lastHandledReconcileAt: z.string().max(ECHO_MAX).optional().meta({
      description:
        'The value of the annotation durable-operator.dev/reconcile-requested-at that was reconciled last.',
    }),
    lastHandledApproval: z.string().max(ECHO_MAX).optional().meta({
      description: 'The ID of the last approved plan whose deletions are complete.',
    }),
  };
}

/** As `metav1.Condition`. Conditions that others write may lack its optional fields. */
const Condition = z
  .object({
    type: z
      .string()
      .min(1)
      .max(316)
      .regex(
        /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/,
      )
      .meta({ description: 'The name of the condition, in CamelCase.' }),
    status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'Whether the condition holds.' }),
    observedGeneration: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'The metadata.generation that the condition is about.' }),
    lastTransitionTime: z
      .string()
      .meta({ description: 'When the status of the condition last changed.', format: 'date-time' }),
    reason: z
      .string()
      .min(1)
      .max(REASON.most)
      .regex(REASON.pattern)
      .meta({ description: 'The reason in CamelCase, for programs.' }),
    message: z.string().max(32_768).meta({ description: 'The reason for people.' }),
  })
  .meta({ description: 'One aspect of the state.' });
