import { describe, expect, it, jest } from '@jest/globals';
import { chartedWithHooks, hookOf, type Delivered } from '../support/delivered.ts';

/* What all containers that connect to Temporal have: those of the Deployment and of the Jobs. Only Helm is needed. */

jest.setTimeout(1_200_000);

const ALL = ['versioning.enabled=true', 'temporal.retention=72h'];
/** Those with a Pod: the Deployment, and the Jobs that check, promote and set the retention. */
async function withPods(values: readonly string[]): Promise<readonly Delivered[]> {
  const objects = await chartedWithHooks([...ALL, ...values]);
  const found = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
  expect(found).toHaveLength(4);
  return found;
}

const pod = (spec: object) => ({ spec: { template: { spec } } });
const including = (...items: readonly object[]): unknown => expect.arrayContaining([...items]);

describe('the Jobs, like the Deployment,', () => {
  it('have further variables, volumes and mounts', async () => {
    const values = [
      ...['env[0].name=HTTPS_PROXY', 'env[0].value=http://proxy:3128'],
      ...['extraVolumes[0].name=ca', 'extraVolumes[0].configMap.name=our-ca'],
      ...['extraVolumeMounts[0].name=ca', 'extraVolumeMounts[0].mountPath=/ca'],
    ];
    for (const object of await withPods(values)) {
      expect(object).toMatchObject(
        pod({
          containers: [
            {
              env: including({ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }),
              volumeMounts: including({ name: 'ca', mountPath: '/ca' }),
            },
          ],
          volumes: including({ name: 'ca', configMap: { name: 'our-ca' } }),
        }),
      );
    }
  });

  const PATH = '/etc/durable-operator/temporal-ca';
  it.each([
    ['secret', 'ca.crt', { secret: { secretName: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] } }],
    ['configMap', 'root.pem', { configMap: { name: 'ca', items: [{ key: 'root.pem', path: 'ca.crt' }] } }],
  ])('read the CA of Temporal from temporal.tlsCa.%s, key %s', async (kind, key, source) => {
    const values = [
      `temporal.tlsCa.${kind}=ca`,
      `temporal.tlsCa.key=${key}`,
      'temporal.tlsSecret=temporal-tls',
    ];
    for (const object of await withPods(values)) {
      expect(object).toMatchObject(
        pod({
          containers: [
            {
              env: including({ name: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', value: `${PATH}/ca.crt` }),
              volumeMounts: including({ name: 'temporal-ca', mountPath: PATH, readOnly: true }),
            },
          ],
          volumes: including({ name: 'temporal-ca', ...source }),
        }),
      );
      // Temporal's configuration takes one of both.
      expect(JSON.stringify(object)).not.toContain('TEMPORAL_TLS_SERVER_CA_CERT_DATA');
    }
  });

  it('take the CA from one place', async () => {
    const both = ['temporal.tlsCa.secret=a', 'temporal.tlsCa.configMap=b'];
    await expect(withPods(both)).rejects.toThrow('set either secret or configMap');
  });

  it('with the operator’s image pull it as image.pullPolicy says', async () => {
    const objects = await withPods(['image.pullPolicy=Always']);
    const pulling = objects.filter((object) => JSON.stringify(object).includes('"imagePullPolicy":"Always"'));
    expect(pulling).toHaveLength(3);
  });
});

it('after a rollback, the version that is back is promoted, and the retention set', async () => {
  const hooks = (await withPods([])).map(hookOf);
  const after = 'post-install,post-upgrade,post-rollback';
  expect(hooks.filter((hook) => hook === after)).toHaveLength(2);
});
