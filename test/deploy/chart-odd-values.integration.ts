import { describe, expect, it, jest } from '@jest/globals';
import { chartedWithHooks } from '../support/delivered.ts';

/* Values that YAML could misread. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

describe('a name that looks like a number', () => {
  it('stays a string in every object', async () => {
    const sets = [
      ...['namespaces={1,1e3}', 'serviceAccount.name=12', 'leaderElection.leaseName=1e3'],
      ...['priorityClassName=007', 'payloadKeysSecret=1', 'metrics.certSecret=2', 'temporal.tlsSecret=3'],
      ...['temporal.apiKeySecret=4', 'temporal.tlsCa.secret=5', 'temporal.retention=72h'],
    ];
    const release = { namespace: '77', setAs: '--set-string' };
    const objects = await chartedWithHooks(sets, release);
    expect(objects.flatMap((object) => numbersIn(object))).toEqual([]);
  });

  /** The paths of names and namespaces that are numbers. */
  function numbersIn(value: unknown, path = ''): string[] {
    if (typeof value !== 'object' || value === null) {
      const isName = /(name|namespace|Name|serviceAccountName|resourceNames\.\d+)$/.test(path);
      return isName && typeof value !== 'string' ? [`${path} is ${JSON.stringify(value)}`] : [];
    }
    return Object.entries(value).flatMap(([key, inner]) => numbersIn(inner, `${path}.${key}`));
  }
});

it('a value that is null is one that is not there', async () => {
  const nulls = [
    'image.tag',
    'podAnnotations',
    'podLabels',
    'commonLabels',
    'networkPolicy.egressPorts',
    'metrics.dashboard.labels',
  ];
  const digest = `image.digest=sha256:${'0123456789abcdef'.repeat(4)}`;
  const objects = await chartedWithHooks([
    digest,
    'metrics.dashboard.enabled=true',
    ...nulls.map((name) => `${name}=null`),
  ]);
  expect(objects.filter(({ kind }) => kind === 'Deployment' || kind === 'NetworkPolicy')).toHaveLength(2);
});

describe('a label or an annotation that the chart has, too,', () => {
  it('is there once', async () => {
    const values = [
      ...['versioning.enabled=true', 'commonLabels.control-plane=x', 'podLabels.control-plane=y'],
      'commonLabels.app\\.kubernetes\\.io/version=z',
      'podAnnotations.kubectl\\.kubernetes\\.io/default-container=sidecar',
    ];
    const objects = await chartedWithHooks(values);
    const [deployment] = objects.filter(({ kind }) => kind === 'Deployment');
    expect(deployment).toMatchObject({
      metadata: { labels: { 'control-plane': 'controller-manager' } },
      spec: {
        template: {
          metadata: {
            labels: { 'control-plane': 'controller-manager', 'app.kubernetes.io/version': '0.4.0' },
            annotations: { 'kubectl.kubernetes.io/default-container': 'sidecar' },
          },
        },
      },
    });
  });
});
