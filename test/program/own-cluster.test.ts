import { describe, expect, it } from '@jest/globals';
import { defaultOptions } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { errorFromAnswer } from '../../src/kubernetes/errors.ts';
import { ownCluster } from '../../src/program/own-cluster.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const KUBE_SYSTEM = { metadata: { name: 'kube-system', uid: 'uid-1', resourceVersion: '1' } };
const refusal = (code: number) =>
  errorFromAnswer('GET /api/v1/namespaces/kube-system', {
    status: code,
    body: JSON.stringify({ kind: 'Status', code, reason: 'Any', message: 'no' }),
  });

interface Setting {
  readonly name?: string;
  readonly namespaces?: readonly string[];
  /** One after the other; then what was asked for. */
  readonly failures?: readonly Error[];
}

async function told({ name, namespaces = [], failures = [] }: Setting) {
  const { cluster, reconciliation } = defaultOptions(durableOperator);
  const asked: string[] = [];
  const client = {
    request: ({ path }: { readonly path: string }) => {
      const failure = failures[asked.length];
      asked.push(path);
      return failure === undefined ? Promise.resolve(KUBE_SYSTEM) : Promise.reject(failure);
    },
  } as unknown as KubernetesClient;
  const log = aRecordingLogger();
  const config = {
    cluster: { ...cluster, name },
    reconciliation: { ...reconciliation, namespaces: [...namespaces] },
  };
  const found = await ownCluster({ config, client, log, signal: new AbortController().signal });
  return { found, asked, said: log.lines.map(({ message }) => message) };
}

describe('the cluster of an operator', () => {
  it('is told by the UID of the Namespace kube-system, besides its name', async () => {
    const { found, asked, said } = await told({ name: 'prod' });
    expect(found).toEqual({ name: 'prod', uid: 'uid-1' });
    expect(asked).toEqual(['/api/v1/namespaces/kube-system']);
    expect(said).toEqual([]);
  });

  it('is not asked for where it has a name, and the operator is for some namespaces only', async () => {
    const { found, asked } = await told({ name: 'prod', namespaces: ['a'] });
    expect(found).toEqual({ name: 'prod' });
    expect(asked).toEqual([]);
  });

  it('is unknown where the operator may not read it, which is said', async () => {
    const failures = Array.from({ length: 4 }, () => refusal(403));
    const { found, said } = await told({ namespaces: ['a'], failures });
    expect(found).toEqual({});
    expect(said).toEqual([
      expect.stringContaining('it may not be read'),
      expect.stringContaining('set --cluster-name'),
    ]);
  });

  it('is known after an API server has refused it that had just started', async () => {
    const { found } = await told({ failures: [refusal(403), refusal(403)] });
    expect(found).toEqual({ uid: 'uid-1' });
  });

  it('is waited for where the API server does not say it yet', async () => {
    const { found, said } = await told({ failures: [refusal(401)] });
    expect(found).toEqual({ uid: 'uid-1' });
    expect(said).toEqual([
      expect.stringContaining('the API server cannot be asked for the Namespace kube-system'),
    ]);
  });
});
