import { describe, expect, it, jest } from '@jest/globals';
import { charted, chartedWithHooks } from '../support/delivered.ts';

/* What the chart renders from its values. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

const pod = (spec: object) => ({ spec: { template: { spec } } });
const container = (fields: object) => pod({ containers: [fields] });
const including = (...items: readonly unknown[]): unknown => expect.arrayContaining([...items]);
const ports = (...numbers: readonly number[]) => ({
  ports: numbers.map((port) => ({ port, protocol: 'TCP' })),
});

it('the values of a Pod are all on it', async () => {
  const values = [
    'affinity.nodeAffinity.x=y',
    'clusterName=eu-1',
    'command={node,--max-old-space-size=512,dist/src/main.js}',
    'containerSecurityContext.runAsUser=2000',
    'env[0].name=HTTPS_PROXY',
    'env[0].value=http://proxy',
    'extraArgs={--resync=1m,--log-level=debug}',
    'extraVolumeMounts[0].name=ca',
    'extraVolumeMounts[0].mountPath=/ca',
    'extraVolumes[0].name=ca',
    'extraVolumes[0].configMap.name=our-ca',
    'imagePullSecrets[0].name=registry',
    'leaderElection.leaseName=mine',
    'livenessProbe.failureThreshold=5',
    'livenessProbe.periodSeconds=30',
    'metrics.certSecret=cert',
    'nodeSelector.disk=ssd',
    'podAnnotations.note=a',
    'podLabels.team=a',
    'priorityClassName=high',
    'readinessProbe.timeoutSeconds=3',
    'resources.limits.memory=1Gi',
    'securityContext.fsGroup=1000',
    'serviceAccount.name=op',
    'temporal.address=temporal:7233',
    'temporal.namespace=ops',
    'temporal.taskQueue=mine',
    'terminationGracePeriodSeconds=30',
    'tolerations[0].key=infra',
    'tolerations[0].operator=Exists',
    'topologySpreadConstraints[0].maxSkew=2',
    'topologySpreadConstraints[0].topologyKey=topology.kubernetes.io/zone',
    'topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule',
  ];
  const [deployment] = (await charted(values)).filter(({ kind }) => kind === 'Deployment');
  expect(deployment).toMatchObject({
    spec: { template: { metadata: { labels: { team: 'a' }, annotations: { note: 'a' } } } },
  });
  expect(deployment).toMatchObject(
    pod({
      affinity: { nodeAffinity: { x: 'y' } },
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { 'kubernetes.io/os': 'linux', disk: 'ssd' },
      priorityClassName: 'high',
      securityContext: { fsGroup: 1000, runAsNonRoot: true },
      serviceAccountName: 'op',
      terminationGracePeriodSeconds: 30,
      tolerations: [{ key: 'infra', operator: 'Exists' }],
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
      volumes: including({ name: 'ca', configMap: { name: 'our-ca' } }),
    }),
  );
  expect(deployment).toMatchObject(
    container({
      args: including(
        '--cluster-name=eu-1',
        '--leader-election-name=mine',
        '--log-level=debug',
        '--metrics-cert-dir=/etc/durable-operator/metrics-cert',
        '--resync=1m',
        '--task-queue=mine',
      ),
      command: ['node', '--max-old-space-size=512', 'dist/src/main.js'],
      env: [
        { name: 'TEMPORAL_ADDRESS', value: 'temporal:7233' },
        { name: 'TEMPORAL_NAMESPACE', value: 'ops' },
        { name: 'HTTPS_PROXY', value: 'http://proxy' },
      ],
      livenessProbe: {
        httpGet: { path: '/healthz', port: 'health' },
        initialDelaySeconds: 15,
        periodSeconds: 30,
        failureThreshold: 5,
      },
      readinessProbe: {
        httpGet: { path: '/readyz', port: 'health' },
        initialDelaySeconds: 2,
        periodSeconds: 5,
        timeoutSeconds: 3,
      },
      resources: { limits: { memory: '1Gi' }, requests: { cpu: '100m' } },
      securityContext: { runAsUser: 2000, readOnlyRootFilesystem: true },
      volumeMounts: including({ name: 'ca', mountPath: '/ca' }),
    }),
  );
});

/** What a value gives, and in which object. */
interface Rendered {
  readonly values: readonly string[];
  readonly kind: string;
  /** The end of its name. Default: there is one of the kind. */
  readonly name?: string;
  readonly gives: object;
}

const RENDERED: readonly Rendered[] = [
  {
    kind: 'Deployment',
    values: ['image.repository=example.com/op', 'image.tag=latest'],
    gives: container({ image: 'example.com/op:latest', imagePullPolicy: 'IfNotPresent' }),
  },
  { kind: 'Deployment', values: ['replicas=0'], gives: { spec: { replicas: 0 } } },
  {
    kind: 'Deployment',
    name: 'watcher',
    values: ['mode=split', 'watcher.replicas=0'],
    gives: { spec: { replicas: 0 } },
  },
  {
    kind: 'Deployment',
    name: 'worker',
    values: ['mode=split', 'clusterName=eu-1', 'serviceAccount.name=op'],
    gives: pod({
      serviceAccountName: 'op-worker',
      containers: [{ args: including('--cluster-name=eu-1') }],
    }),
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
    kind: 'Role',
    values: ['leaderElection.leaseName=mine'],
    gives: { rules: including(expect.objectContaining({ resourceNames: ['mine'] })) },
  },
  {
    kind: 'Job',
    name: 'promote-0-4-0',
    values: ['versioning.enabled=true', 'temporal.taskQueue=mine'],
    gives: container({ args: including('--task-queue=mine') }),
  },
  {
    kind: 'Deployment',
    values: ['versioning.enabled=true', 'image.tag=1.2.3', 'versioning.deploymentName=op'],
    gives: container({ args: including('--worker-deployment=op', '--worker-build-id=1.2.3') }),
  },
  {
    kind: 'Deployment',
    values: ['payloadKeysSecret=keys', 'temporal.apiKeySecret=api', 'temporal.tlsSecret=tls'],
    gives: pod({
      containers: [
        {
          env: including(
            { name: 'DURABLE_OPERATOR_PAYLOAD_KEYS', value: '/etc/durable-operator/payload-keys/keys' },
            { name: 'TEMPORAL_CREDENTIALS_DIR', value: '/etc/durable-operator/temporal-api-key' },
            { name: 'TEMPORAL_TLS_CLIENT_CERT_PATH', value: '/etc/durable-operator/temporal-tls/tls.crt' },
            { name: 'TEMPORAL_TLS_CLIENT_KEY_PATH', value: '/etc/durable-operator/temporal-tls/tls.key' },
          ),
          volumeMounts: including(
            expect.objectContaining({ mountPath: '/etc/durable-operator/payload-keys' }),
            expect.objectContaining({ mountPath: '/etc/durable-operator/temporal-tls' }),
            expect.objectContaining({ mountPath: '/etc/durable-operator/temporal-api-key' }),
          ),
        },
      ],
      volumes: including(
        { name: 'payload-keys', secret: { secretName: 'keys' } },
        { name: 'temporal-tls', secret: { secretName: 'tls' } },
        {
          name: 'temporal-api-key',
          secret: { secretName: 'api', items: [{ key: 'api-key', path: 'api-key' }] },
        },
      ),
    }),
  },
  {
    kind: 'ServiceAccount',
    values: ['serviceAccount.annotations.role=a', 'serviceAccount.automount=false', 'serviceAccount.name=op'],
    gives: { metadata: { name: 'op', annotations: { role: 'a' } }, automountServiceAccountToken: false },
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
    values: ['metrics.serviceMonitor.enabled=true', 'metrics.serviceMonitor.tlsConfig.serverName=op'],
    gives: { spec: { endpoints: [{ tlsConfig: { serverName: 'op' } }] } },
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
    kind: 'NetworkPolicy',
    values: ['networkPolicy.egressPorts={443,7234}', 'temporal.address=temporal:17233'],
    gives: { spec: { egress: including(ports(443, 7234, 17233)) } },
  },
];

describe('the value', () => {
  it.each(RENDERED)('$values: $kind', async ({ values, kind, name = '', gives }) => {
    const objects = (await charted(values)).filter(
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
      (await chartedWithHooks(values)).map((object) => object.kind);
    expect(await kinds([])).toContain(kind);
    expect(await kinds([value])).not.toContain(kind);
  });

  const namesOf = async (values: readonly string[]) =>
    (await charted(values)).map(({ metadata }) => metadata.name);

  it('userRoles=false leaves out the roles for people', async () => {
    expect(await namesOf([])).toContain('durable-operator-podset-editor-role');
    const without = await namesOf(['userRoles=false']);
    expect(without.filter((name) => /-(editor|viewer)-role$/.test(name))).toEqual([]);
  });

  it('metrics.alerts.runbooks is the URL in all alerts', async () => {
    const url = 'https://example.com/$1/operating.html';
    const objects = await charted(['metrics.alerts.enabled=true', `metrics.alerts.runbooks=${url}`]);
    const text = JSON.stringify(objects.filter(({ kind }) => kind === 'PrometheusRule'));
    const runbooks = [...text.matchAll(/"runbook(?:_url)?":"([^"]*)"/g)].map(([, runbook]) => runbook);
    expect(runbooks.length).toBeGreaterThan(5);
    for (const runbook of runbooks)
      expect(runbook).toMatch(/^https:\/\/example\.com\/\$1\/operating\.html#\w+$/);
  });

  it('commonLabels is on everything but the CustomResourceDefinitions, and changes no selector', async () => {
    const values = ['commonLabels.cost=a', 'mode=split', 'metrics.alerts.enabled=true'];
    const objects = (await chartedWithHooks(values)).filter(
      ({ kind }) => kind !== 'CustomResourceDefinition',
    );
    expect(objects.filter(({ metadata }) => metadata.labels?.['cost'] !== 'a')).toEqual([]);
    expect(JSON.stringify(objects)).not.toMatch(/"matchLabels":\{[^}]*"cost"/);
  });
});
