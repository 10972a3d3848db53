import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { buildPrograms } from '../../local/build.ts';
import { chartedWithHooks } from '../support/delivered.ts';

/* Helm alone is asked here, and no cluster: values that are allowed, and that YAML could misread. */

jest.setTimeout(1_200_000);

let helm: string;

beforeAll(async () => {
  ({ helm } = await buildPrograms(['helm'], {}));
});

describe('a name that looks like a number', () => {
  it('stays a string in every object', async () => {
    const sets = [
      ...['namespaces={1,1e3}', 'serviceAccount.name=12', 'leaderElection.leaseName=1e3'],
      ...['priorityClassName=007', 'payloadKeysSecret=1', 'metrics.certSecret=2', 'temporal.tlsSecret=3'],
      ...['temporal.apiKeySecret=4', 'temporal.tlsCa.secret=5', 'temporal.retention=72h'],
    ];
    const release = { namespace: '77', setAs: '--set-string' };
    const objects = await chartedWithHooks(helm, sets, release);
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

describe('a label or an annotation that the chart has, too,', () => {
  it('is there once', async () => {
    const values = [
      ...['versioning.enabled=true', 'commonLabels.control-plane=x', 'podLabels.control-plane=y'],
      'commonLabels.app\\.kubernetes\\.io/version=z',
      'podAnnotations.kubectl\\.kubernetes\\.io/default-container=sidecar',
    ];
    const objects = await chartedWithHooks(helm, values);
    const [deployment] = objects.filter(({ kind }) => kind === 'Deployment');
    expect(deployment).toMatchObject({
      metadata: { labels: { 'control-plane': 'controller-manager' } },
      spec: {
        template: {
          metadata: {
            labels: { 'control-plane': 'controller-manager', 'app.kubernetes.io/version': '0.3.0' },
            annotations: { 'kubectl.kubernetes.io/default-container': 'sidecar' },
          },
        },
      },
    });
  });
});

it.each(['--worker-build-id=x', '--worker-deployment=x'])(
  'with versioning, %s in extraArgs is refused, since the Job that promotes follows the values',
  async (flag) => {
    const values = ['versioning.enabled=true', `extraArgs={${flag}}`];
    await expect(chartedWithHooks(helm, values)).rejects.toThrow('in extraArgs');
    await chartedWithHooks(helm, [`extraArgs={${flag}}`]);
  },
);
