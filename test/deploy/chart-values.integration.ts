import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildPrograms } from '../../local/build.ts';
import { charted, chartedWithHooks, hookOf, type Delivered } from '../support/delivered.ts';

/* Helm alone is asked here, and no cluster: what the chart makes of its values. */

jest.setTimeout(1_200_000);

const CHART = join(import.meta.dirname, '../../deploy/helm');
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
let helm: string;

beforeAll(async () => {
  ({ helm } = await buildPrograms(['helm'], {}));
});

/** What a value gives, and where. */
interface Rendered {
  readonly values: readonly string[];
  readonly kind: string;
  /** What the name ends with. Default: there is one of the kind. */
  readonly name?: string;
  readonly gives: object;
}

const TEMPLATE = { kind: 'Deployment' };
const pod = (spec: object) => ({ spec: { template: { spec } } });
const container = (fields: object) => pod({ containers: [fields] });
const anObject = (fields: object): unknown => expect.objectContaining(fields);

const RENDERED: readonly Rendered[] = [
  {
    ...TEMPLATE,
    values: ['image.repository=example.com/op', 'image.tag=1.2.3'],
    gives: container({ image: 'example.com/op:1.2.3' }),
  },
  {
    ...TEMPLATE,
    values: [`image.digest=${DIGEST}`, 'image.tag=1.2.3'],
    gives: container({ image: `durable-operator:1.2.3@${DIGEST}` }),
  },
  {
    ...TEMPLATE,
    values: ['image.pullPolicy=Always'],
    gives: container({ imagePullPolicy: 'Always' }),
  },
  {
    ...TEMPLATE,
    values: ['imagePullSecrets[0].name=registry'],
    gives: pod({ imagePullSecrets: [{ name: 'registry' }] }),
  },
  {
    ...TEMPLATE,
    values: ['image.tag=latest'],
    gives: container({ imagePullPolicy: 'IfNotPresent' }),
  },
  { ...TEMPLATE, values: ['replicas=5'], gives: { spec: { replicas: 5 } } },
  { ...TEMPLATE, values: ['replicas=0'], gives: { spec: { replicas: 0 } } },
  { ...TEMPLATE, values: ['replicas=0', 'versioning.enabled=true'], gives: { spec: { replicas: 0 } } },
  {
    kind: 'Deployment',
    name: 'watcher',
    values: ['mode=split', 'watcher.replicas=0'],
    gives: { spec: { replicas: 0 } },
  },
  {
    kind: 'Deployment',
    name: 'watcher',
    values: ['mode=split', 'watcher.replicas=3'],
    gives: { spec: { replicas: 3 } },
  },
  {
    kind: 'HorizontalPodAutoscaler',
    values: ['mode=split', 'worker.minReplicas=4', 'worker.maxReplicas=5', 'worker.averageCpu=800m'],
    gives: {
      spec: {
        scaleTargetRef: { name: 'durable-operator-worker' },
        minReplicas: 4,
        maxReplicas: 5,
        metrics: [{ resource: { target: { averageValue: '800m' } } }],
      },
    },
  },
  {
    ...TEMPLATE,
    values: ['extraVolumes[0].name=ca', 'extraVolumes[0].configMap.name=our-ca'],
    gives: pod({ volumes: [{ name: 'ca', configMap: { name: 'our-ca' } }] }),
  },
  {
    ...TEMPLATE,
    values: ['extraVolumeMounts[0].name=ca', 'extraVolumeMounts[0].mountPath=/ca'],
    gives: container({ volumeMounts: [{ name: 'ca', mountPath: '/ca' }] }),
  },
  {
    ...TEMPLATE,
    values: ['podLabels.team=a'],
    gives: { spec: { template: { metadata: { labels: { team: 'a' } } } } },
  },
  {
    ...TEMPLATE,
    values: ['podAnnotations.note=a'],
    gives: { spec: { template: { metadata: { annotations: { note: 'a' } } } } },
  },
  {
    ...TEMPLATE,
    values: [
      'topologySpreadConstraints[0].maxSkew=2',
      'topologySpreadConstraints[0].topologyKey=topology.kubernetes.io/zone',
      'topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule',
    ],
    gives: pod({
      topologySpreadConstraints: [
        {
          maxSkew: 2,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: {
            matchLabels: {
              'app.kubernetes.io/instance': 'durable-operator',
              'control-plane': 'controller-manager',
            },
          },
        },
      ],
    }),
  },
  {
    ...TEMPLATE,
    values: ['livenessProbe.failureThreshold=5', 'livenessProbe.periodSeconds=30'],
    gives: container({
      livenessProbe: {
        httpGet: { path: '/healthz', port: 'health' },
        initialDelaySeconds: 15,
        periodSeconds: 30,
        failureThreshold: 5,
      },
    }),
  },
  {
    ...TEMPLATE,
    values: ['readinessProbe.timeoutSeconds=3'],
    gives: container({
      readinessProbe: {
        httpGet: { path: '/readyz', port: 'health' },
        initialDelaySeconds: 2,
        periodSeconds: 5,
        timeoutSeconds: 3,
      },
    }),
  },
  {
    ...TEMPLATE,
    values: ['securityContext.fsGroup=1000'],
    gives: pod({ securityContext: { fsGroup: 1000, runAsNonRoot: true } }),
  },
  {
    ...TEMPLATE,
    values: ['containerSecurityContext.runAsUser=2000'],
    gives: container({ securityContext: { runAsUser: 2000, readOnlyRootFilesystem: true } }),
  },
  {
    ...TEMPLATE,
    values: ['terminationGracePeriodSeconds=30'],
    gives: pod({ terminationGracePeriodSeconds: 30 }),
  },
  {
    ...TEMPLATE,
    values: ['resources.limits.memory=1Gi'],
    gives: container({ resources: { limits: { memory: '1Gi' }, requests: { cpu: '100m' } } }),
  },
  {
    ...TEMPLATE,
    values: ['extraArgs={--resync=1m,--tracing}'],
    gives: container({ args: expect.arrayContaining(['--resync=1m', '--tracing']) }),
  },
  {
    ...TEMPLATE,
    values: ['env[0].name=OTEL_EXPORTER_OTLP_ENDPOINT', 'env[0].value=http://collector'],
    gives: container({
      env: expect.arrayContaining([{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector' }]),
    }),
  },
  { ...TEMPLATE, values: ['priorityClassName=high'], gives: pod({ priorityClassName: 'high' }) },
  { ...TEMPLATE, values: ['nodeSelector.disk=ssd'], gives: pod({ nodeSelector: { disk: 'ssd' } }) },
  {
    ...TEMPLATE,
    values: ['tolerations[0].key=infra', 'tolerations[0].operator=Exists'],
    gives: pod({ tolerations: [{ key: 'infra', operator: 'Exists' }] }),
  },
  {
    ...TEMPLATE,
    values: ['affinity.nodeAffinity.x=y'],
    gives: pod({ affinity: { nodeAffinity: { x: 'y' } } }),
  },
  {
    ...TEMPLATE,
    values: ['leaderElection.leaseName=mine'],
    gives: container({ args: expect.arrayContaining(['--leader-election-name=mine']) }),
  },
  {
    kind: 'Role',
    values: ['leaderElection.leaseName=mine'],
    gives: { rules: expect.arrayContaining([anObject({ resourceNames: ['mine'] })]) },
  },
  {
    ...TEMPLATE,
    values: ['command={node,--max-old-space-size=512,dist/src/main.js}'],
    gives: container({ command: ['node', '--max-old-space-size=512', 'dist/src/main.js'] }),
  },
  {
    ...TEMPLATE,
    values: ['clusterName=eu-1'],
    gives: container({ args: expect.arrayContaining(['--cluster-name=eu-1']) }),
  },
  {
    kind: 'Deployment',
    name: 'worker',
    values: ['clusterName=eu-1', 'mode=split'],
    gives: container({ args: expect.arrayContaining(['--cluster-name=eu-1']) }),
  },
  {
    ...TEMPLATE,
    values: ['temporal.taskQueue=mine'],
    gives: container({ args: expect.arrayContaining(['--task-queue=mine']) }),
  },
  {
    kind: 'Job',
    name: 'promote-0-3-0',
    values: ['versioning.enabled=true', 'temporal.taskQueue=mine'],
    gives: container({ args: expect.arrayContaining(['--task-queue=mine']) }),
  },
  {
    kind: 'Deployment',
    values: [
      `versioning.enabled=true`,
      `image.digest=${DIGEST}`,
      'image.tag=1.2.3',
      'versioning.deploymentName=op',
    ],
    gives: container({
      image: `durable-operator:1.2.3@${DIGEST}`,
      args: expect.arrayContaining(['--worker-deployment=op', '--worker-build-id=1.2.3']),
    }),
  },
  {
    ...TEMPLATE,
    values: ['temporal.address=temporal:7233', 'temporal.namespace=ops'],
    gives: container({
      env: [
        { name: 'TEMPORAL_ADDRESS', value: 'temporal:7233' },
        { name: 'TEMPORAL_NAMESPACE', value: 'ops' },
      ],
    }),
  },
  {
    kind: 'ServiceAccount',
    values: ['serviceAccount.annotations.role=a', 'serviceAccount.automount=false', 'serviceAccount.name=op'],
    gives: { metadata: { name: 'op', annotations: { role: 'a' } }, automountServiceAccountToken: false },
  },
  { ...TEMPLATE, values: ['serviceAccount.name=op'], gives: pod({ serviceAccountName: 'op' }) },
  {
    kind: 'Deployment',
    name: 'worker',
    values: ['serviceAccount.name=op', 'mode=split'],
    gives: pod({ serviceAccountName: 'op-worker' }),
  },
  {
    kind: 'ClusterRoleBinding',
    name: 'manager-rolebinding',
    values: ['serviceAccount.name=op', 'serviceAccount.create=false'],
    gives: { subjects: [{ kind: 'ServiceAccount', name: 'op', namespace: 'durable-operator-system' }] },
  },
  {
    kind: 'ServiceMonitor',
    values: [
      'metrics.serviceMonitor.enabled=true',
      'metrics.serviceMonitor.labels.release=kube-prometheus-stack',
      'metrics.serviceMonitor.interval=15s',
      'metrics.serviceMonitor.scrapeTimeout=10s',
    ],
    gives: {
      metadata: { labels: { release: 'kube-prometheus-stack' } },
      spec: {
        selector: { matchLabels: { 'app.kubernetes.io/instance': 'durable-operator' } },
        endpoints: [
          {
            interval: '15s',
            scrapeTimeout: '10s',
            scheme: 'https',
            tlsConfig: { insecureSkipVerify: true },
          },
        ],
      },
    },
  },
  {
    kind: 'ServiceMonitor',
    values: [
      'metrics.serviceMonitor.enabled=true',
      'metrics.serviceMonitor.tlsConfig.serverName=op',
      'metrics.serviceMonitor.tlsConfig.ca.secret.name=ca',
    ],
    gives: { spec: { endpoints: [{ tlsConfig: { serverName: 'op', ca: { secret: { name: 'ca' } } } }] } },
  },
  {
    kind: 'PrometheusRule',
    values: ['metrics.alerts.enabled=true', 'metrics.alerts.labels.release=kube-prometheus-stack'],
    gives: { metadata: { labels: { release: 'kube-prometheus-stack' } } },
  },
  {
    kind: 'ConfigMap',
    values: ['metrics.dashboard.enabled=true', 'metrics.dashboard.labels.folder=ops'],
    gives: { metadata: { labels: { folder: 'ops', grafana_dashboard: '1' } } },
  },
  {
    ...TEMPLATE,
    values: ['metrics.certSecret=cert'],
    gives: container({
      args: expect.arrayContaining(['--metrics-cert-dir=/etc/durable-operator/metrics-cert']),
    }),
  },
  {
    kind: 'NetworkPolicy',
    values: ['networkPolicy.egressPorts={443,7234}'],
    gives: {
      spec: {
        egress: expect.arrayContaining([
          { ports: [443, 7234, 7233].map((port) => ({ port, protocol: 'TCP' })) },
        ]),
      },
    },
  },
  {
    kind: 'NetworkPolicy',
    values: ['networkPolicy.egressPorts={443}', 'temporal.address=temporal:17233'],
    gives: {
      spec: {
        egress: expect.arrayContaining([{ ports: [443, 17233].map((port) => ({ port, protocol: 'TCP' })) }]),
      },
    },
  },
];

describe('the value', () => {
  it.each(RENDERED)('$values: $kind', async ({ values, kind, name = '', gives }) => {
    const objects = (await charted(helm, values)).filter(
      ({ kind: its, metadata }) => its === kind && metadata.name.endsWith(name),
    );
    expect(objects).toHaveLength(1);
    expect(objects[0]).toMatchObject(gives);
  });

  it.each([
    ['serviceAccount.create=false', 'ServiceAccount'],
    ['crds=false', 'CustomResourceDefinition'],
    ['podDisruptionBudget=false', 'PodDisruptionBudget'],
    ['networkPolicy.enabled=false', 'NetworkPolicy'],
    ['uninstallCheck=false', 'Job'],
  ])('%s leaves out the %s', async (value, kind) => {
    const kinds = async (values: readonly string[]) =>
      (await chartedWithHooks(helm, values)).map((object) => object.kind);
    expect(await kinds([])).toContain(kind);
    expect(await kinds([value])).not.toContain(kind);
  });

  it('userRoles=false leaves out the roles for people', async () => {
    expect(names(await charted(helm, []))).toContain('durable-operator-podset-editor-role');
    const without = names(await charted(helm, ['userRoles=false']));
    expect(without.filter((name) => /-(editor|viewer)-role$/.test(name))).toEqual([]);
  });

  it('metrics.alerts.runbooks is where all alerts refer to', async () => {
    const url = 'https://example.com/operating.html';
    const objects = await charted(helm, ['metrics.alerts.enabled=true', `metrics.alerts.runbooks=${url}`]);
    const text = JSON.stringify(objects.filter(({ kind }) => kind === 'PrometheusRule'));
    const runbooks = [...text.matchAll(/"runbook(?:_url)?":"([^"]*)"/g)].map(([, runbook]) => runbook);
    expect(runbooks.length).toBeGreaterThan(5);
    for (const runbook of runbooks) expect(runbook).toMatch(/^https:\/\/example\.com\/operating\.html#\w+$/);
  });

  it('commonLabels is on everything but the CustomResourceDefinitions, and changes no selector', async () => {
    const values = ['commonLabels.cost=a', 'mode=split', 'metrics.alerts.enabled=true'];
    const objects = (await chartedWithHooks(helm, values)).filter(
      ({ kind }) => kind !== 'CustomResourceDefinition',
    );
    expect(objects.filter(({ metadata }) => metadata.labels?.['cost'] !== 'a')).toEqual([]);
    expect(JSON.stringify(objects)).not.toMatch(/"matchLabels":\{[^}]*"cost"/);
  });
});

describe('the names of a release', () => {
  it.each([
    ['durable-operator', [], 'durable-operator'],
    ['my-durable-operator', [], 'my-durable-operator'],
    ['team-1', [], 'team-1-durable-operator'],
    ['team-1', ['fullnameOverride=op'], 'op'],
  ])('begin, for %s with %j, with %s', async (name, values, prefix) => {
    const all = [...values, 'metrics.serviceMonitor.enabled=true', 'versioning.enabled=true', 'crds=false'];
    const objects = await chartedWithHooks(helm, all, { name });
    expect(names(objects).filter((each) => !each.startsWith(`${prefix}-`))).toEqual([]);
    expect(JSON.stringify(objects)).toContain(`durable-operator.dev/admission-policy":"${prefix}"`);
    const flags = ['--task-queue', '--leader-election-name'].map((flag) => `${flag}=${prefix}`);
    const text = JSON.stringify(objects.filter(({ kind }) => kind === 'Deployment'));
    for (const flag of flags) expect(text.includes(flag)).toBe(prefix !== 'durable-operator');
  });

  it('are no longer than Kubernetes lets them be', async () => {
    const values = ['versioning.enabled=true', 'temporal.retention=72h', 'namespaces={team-1}'];
    const objects = await chartedWithHooks(helm, values, { name: 'a'.repeat(53) });
    const limited = objects.filter(({ kind }) => kind === 'Service' || kind === 'Job');
    expect(limited).toHaveLength(4);
    for (const name of names(limited)) expect(name).toMatch(/^a[-a-z0-9]{1,61}[a-z0-9]$/);
  });

  it('are shared by no two releases, and neither selects the Pods of the other', async () => {
    const values = ['crds=false', 'mode=split', 'metrics.serviceMonitor.enabled=true'];
    const [one = [], other = []] = await Promise.all(
      ['one', 'other'].map((name) => chartedWithHooks(helm, values, { name })),
    );
    expect(names(one).filter((name) => names(other).includes(name))).toEqual([]);
    const selectors = one.flatMap(selectorsIn);
    expect(selectors.length).toBeGreaterThan(5);
    for (const selector of selectors) expect(selector).toContain('"app.kubernetes.io/instance":"one"');
  });
});

function names(objects: readonly Delivered[]): string[] {
  return objects.map(({ metadata }) => metadata.name);
}

/** Of Pods, and of the Service that is scraped, as JSON. */
function selectorsIn(object: Delivered): string[] {
  const text = JSON.stringify(object['spec'] ?? {});
  const found = [
    ...text.matchAll(/"(?:selector|podSelector|labelSelector)":(\{(?:"matchLabels":)?\{?[^}]*\})/g),
  ];
  return found
    .map(([, selector = '']) => selector)
    .filter((selector) => !selector.includes('metrics') && !selector.includes('admission-policy'));
}

describe('the check before a release is uninstalled', () => {
  it('is told which resources are its operator’s, and runs as the one who may list them', async () => {
    const values = ['mode=split', 'namespaces={team-1,team-2}', 'controllers={git-build}'];
    const objects = await chartedWithHooks(helm, values, { name: 'two' });
    const checks = objects.filter((object) => hookOf(object) === 'pre-delete');
    expect(checks).toHaveLength(1);
    expect(checks[0]).toMatchObject(
      pod({
        serviceAccountName: 'two-durable-operator-watcher',
        containers: [
          {
            image: 'durable-operator:0.3.0',
            args: [
              'uninstall-check',
              '--end-settings-run',
              '--task-queue=two-durable-operator',
              '--namespaces=team-1,team-2',
              '--controllers=git-build',
            ],
          },
        ],
      }),
    );
  });
});

describe('the chart', () => {
  it.each([
    ['image.digest=latest', 'does not match'],
    ['image.tag=a:b', 'does not match'],
    ['temporal.taskQueue=a"b', 'does not match'],
    ['temporal.taskQueue=a\\\\b', 'does not match'],
    ['temporal.taskQueue=a\u0001b', 'does not match'],
    ['temporal.tlsCa.key=a/b', 'does not match'],
    ['versioning.deploymentName=a.b', 'does not match'],
    ['serviceAccount.names=x', "additional properties 'names' not allowed"],
    ['livenessProbe.periodSeconds=0', 'minimum'],
    ['livenessProbe.path=/x', "additional properties 'path' not allowed"],
    ['podLabels.team=a b', 'does not match'],
    ['metrics.serviceMonitor=true', 'got boolean, want object'],
    ['metrics.serviceMonitor.interval=often', 'does not match'],
    ['metrics.alerts.runbooks=docs', 'does not match'],
    ['fullnameOverride=Upper', 'does not match'],
    ['topologySpreadConstraints[0].maxSkew=1', 'missing propert'],
    ['terminationGracePeriodSeconds=-1', 'minimum'],
  ])('refuses %s', async (value, why) => {
    await expect(charted(helm, [value])).rejects.toThrow(why);
  });

  it.each(['--namespaces=a', '--controllers=pod-set', '--task-queue=x', '--leader-election-name=x'])(
    'refuses %s in extraArgs, since roles and Jobs follow the value',
    async (flag) => {
      await expect(charted(helm, [`extraArgs={${flag}}`])).rejects.toThrow('set the value for it');
    },
  );

  it('has a schema for every value, and for nothing else', async () => {
    const values: unknown = parse(await readFile(join(CHART, 'values.yaml'), 'utf8'));
    const schema: unknown = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
    // Helm itself gives every chart the value `global`.
    const described = Object.keys(propertiesOf(schema)).filter((name) => name !== 'global');
    expect(described.sort()).toEqual(Object.keys(Values.parse(values)).sort());
    expect(undescribed(Values.parse(values), schema, schema)).toEqual([]);
  });
});

const Values = z.record(z.string(), z.unknown());
const Schema = z.looseObject({
  $ref: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
  $defs: z.record(z.string(), z.unknown()).optional(),
});

function propertiesOf(schema: unknown): Record<string, unknown> {
  return Schema.parse(schema).properties ?? {};
}

/** The paths of values that no property describes, save where anything may be. */
function undescribed(values: Record<string, unknown>, schema: unknown, root: unknown): string[] {
  const { $ref, properties } = Schema.parse(schema);
  const definition = $ref?.split('/').at(-1) ?? '';
  if ($ref !== undefined) return undescribed(values, Schema.parse(root).$defs?.[definition], root);
  if (properties === undefined) return [];
  return Object.entries(values).flatMap(([name, value]) => {
    const described = properties[name];
    if (described === undefined) return [name];
    const inner = Values.safeParse(value);
    if (!inner.success || Array.isArray(value)) return [];
    return undescribed(inner.data, described, root).map((path) => `${name}.${path}`);
  });
}
