import { describe, expect, it, jest } from '@jest/globals';
import { charted, chartedWithHooks } from '../support/delivered.ts';

/* The values that the chart refuses, and its reasons. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

describe('the chart', () => {
  it.each([
    ['mode=both', "'run', 'split'"],
    ['namespace=x', "additional properties 'namespace' not allowed"],
    ['image.digest=latest', 'does not match'],
    ['image.tag=a:b', 'does not match'],
    ['temporal.taskQueue=a"b', 'does not match'],
    ['temporal.taskQueue=a\u0001b', 'does not match'],
    ['temporal.tlsCa.key=a/b', 'does not match'],
    ['versioning.deploymentName=a.b', 'does not match'],
    ['podLabels.team=a b', 'does not match'],
    ['metrics.serviceMonitor=true', 'got boolean, want object'],
    ['metrics.serviceMonitor.interval=often', 'does not match'],
    ['fullnameOverride=Upper', 'does not match'],
    ['terminationGracePeriodSeconds=-1', 'minimum'],
  ])('refuses %s', async (value, why) => {
    await expect(charted([value])).rejects.toThrow(why);
  });

  it.each(['--namespaces=a', '--controllers=pod-set', '--task-queue=x', '--leader-election-name=x'])(
    'refuses %s in extraArgs, since roles and Jobs follow the value',
    async (flag) => {
      await expect(charted([`extraArgs={${flag}}`])).rejects.toThrow('set the value for it');
    },
  );

  it.each(['--worker-build-id=x', '--worker-deployment=x'])(
    'with versioning, %s in extraArgs is refused, since the Job that promotes follows the values',
    async (flag) => {
      const values = ['versioning.enabled=true', `extraArgs={${flag}}`];
      await expect(chartedWithHooks(values)).rejects.toThrow('in extraArgs');
      await chartedWithHooks([`extraArgs={${flag}}`]);
    },
  );
});
