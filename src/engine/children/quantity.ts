import type { ResourceType } from '../../api/resource-type.ts';

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?$/;
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** The API server keeps billionths, and rounds up. */
const NANO = 9;
/** And no more than that. */
const MAX = (2n ** 63n - 1n) * 10n ** BigInt(NANO);
/** Of what is surely more, and, counted from a billionth, of what is surely less: a factor has up to 19 digits. */
const DIGITS_MAX = 30;

/**
 * The same text for the same quantity: `1000m` and `1`, `1024Mi` and `1Gi`. Anything else stays as it is.
 * Source: apimachinery, pkg/api/resource, `ParseQuantity`.
 */
export function canonicalQuantity(text: string): string {
  const [, sign = '', whole = '', fraction = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (whole + fraction === '') return text;
  const nanos = nanosOf((whole + fraction).replace(/^0+/, ''), suffix, fraction.length);
  return `${sign === '-' ? '-' : ''}${nanos < MAX ? nanos : MAX}n`;
}

/** A power is taken only of what is in bounds: tenants choose the exponent. */
function nanosOf(digits: string, suffix: string, fractionDigits: number): bigint {
  if (digits === '') return 0n;
  const [factor, exponent] = scaleOf(suffix);
  const power = exponent + NANO - fractionDigits;
  if (digits.length + power > DIGITS_MAX) return MAX;
  if (digits.length + power < -DIGITS_MAX) return 1n;
  const scaled = BigInt(digits) * factor;
  if (power >= 0) return scaled * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (scaled + divisor - 1n) / divisor;
}

function scaleOf(suffix: string): readonly [factor: bigint, exponent: number] {
  if (/^[eE][+-]?\d/.test(suffix)) return [1n, Number(suffix.slice(1))];
  if (suffix.endsWith('i')) return [1024n ** BigInt(BINARY.indexOf(suffix)), 0];
  return [1n, (DECIMAL.indexOf(suffix) - DECIMAL.indexOf('')) * 3];
}

/** Where an object has quantities: `*` is a field of any name, and the items of a list are as the list. */
export type QuantityPaths = 'quantity' | { readonly [field: string]: QuantityPaths };

const ALL = { '*': 'quantity' } as const;
const RESOURCES = { requests: ALL, limits: ALL } as const;
const CLAIM = { spec: { resources: RESOURCES } } as const;
const FIELD = { resourceFieldRef: { divisor: 'quantity' } } as const;
const CONTAINER = { resources: RESOURCES, env: { valueFrom: FIELD } } as const;
const POD = {
  spec: {
    containers: CONTAINER,
    initContainers: CONTAINER,
    resources: RESOURCES,
    overhead: ALL,
    volumes: {
      emptyDir: { sizeLimit: 'quantity' },
      ephemeral: { volumeClaimTemplate: CLAIM },
      downwardAPI: { items: FIELD },
      projected: { sources: { downwardAPI: { items: FIELD } } },
    },
  },
} as const;
const WITH_TEMPLATE = { spec: { template: POD } } as const;
const METRIC = { target: { value: 'quantity', averageValue: 'quantity' } } as const;

/** By group and kind. A quantity that is not found costs one more apply, which notes how the server writes it. */
const BY_TYPE: Readonly<Record<string, QuantityPaths>> = {
  '/Pod': POD,
  '/PodTemplate': { template: POD },
  '/ReplicationController': WITH_TEMPLATE,
  '/PersistentVolumeClaim': CLAIM,
  '/PersistentVolume': { spec: { capacity: ALL } },
  '/ResourceQuota': { spec: { hard: ALL } },
  '/LimitRange': { spec: { limits: { '*': ALL } } },
  'apps/Deployment': WITH_TEMPLATE,
  'apps/ReplicaSet': WITH_TEMPLATE,
  'apps/DaemonSet': WITH_TEMPLATE,
  'apps/StatefulSet': { spec: { template: POD, volumeClaimTemplates: CLAIM } },
  'batch/Job': WITH_TEMPLATE,
  'batch/CronJob': { spec: { jobTemplate: WITH_TEMPLATE } },
  'autoscaling/HorizontalPodAutoscaler': { spec: { metrics: { '*': METRIC } } },
  'node.k8s.io/RuntimeClass': { overhead: { podFixed: ALL } },
};

export function quantitiesIn({ group, kind }: Pick<ResourceType, 'group' | 'kind'>): QuantityPaths {
  return BY_TYPE[`${group}/${kind}`] ?? {};
}
