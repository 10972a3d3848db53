import { describe, expect, it, jest } from '@jest/globals';
import { PODS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { ownLogs, startOperator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 20_000;

const { cluster, startProxy } = setUpStage();

describe('an operator that is told to stop', () => {
  it('exits with status 0 even if the API server does not answer', async () => {
    const proxy = await startProxy();
    const operator = await startOperator({ kubeconfig: proxy.kubeconfig });
    const namespace = await cluster.aNamespace();
    let unanswered = 0;
    proxy.fault = ({ path }) => {
      if (!path.includes(`/namespaces/${namespace}/`)) return undefined;
      unanswered += 1;
      return 'no answer';
    };
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    // Once locally, and once durably.
    await eventually(() => unanswered >= 2, WITHIN_MS);
    expect(await operator.end('SIGTERM')).toBe(0);
    expect(ownLogs(operator, 'error')).toEqual([]);
    expect(operator.logs.at(-1)).toMatchObject({ msg: 'stopped' });
  });
});
