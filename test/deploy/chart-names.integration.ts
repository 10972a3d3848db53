import { describe, expect, it, jest } from '@jest/globals';
import { charted, chartedWithHooks, hookOf, type Delivered } from '../support/delivered.ts';

/* The names of a release's objects. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

describe('the names of a release', () => {
  it('may not begin with a digit, as that of a Service may not', async () => {
    const refused = charted([], { name: '1st' });
    await expect(refused).rejects.toThrow('must begin with a letter');
    await charted(['fullnameOverride=first'], { name: '1st' });
  });

  it.each([
    ['durable-operator', [], 'durable-operator'],
    ['team-1', [], 'team-1-durable-operator'],
    ['team-1', ['fullnameOverride=op'], 'op'],
  ])('begin, for %s with %j, with %s', async (name, values, prefix) => {
    const all = [...values, 'metrics.serviceMonitor.enabled=true', 'versioning.enabled=true', 'crds=false'];
    const objects = await chartedWithHooks(all, { name });
    expect(names(objects).filter((each) => !each.startsWith(`${prefix}-`))).toEqual([]);
    expect(JSON.stringify(objects)).toContain(`durable-operator.dev/admission-policy":"${prefix}"`);
    const flags = ['--task-queue', '--leader-election-name'].map((flag) => `${flag}=${prefix}`);
    const text = JSON.stringify(objects.filter(({ kind }) => kind === 'Deployment'));
    for (const flag of flags) expect(text.includes(flag)).toBe(prefix !== 'durable-operator');
  });

  it('are no longer than Kubernetes lets them be', async () => {
    const values = ['versioning.enabled=true', 'temporal.retention=72h', 'namespaces={team-1}'];
    const objects = await chartedWithHooks(values, { name: 'a'.repeat(53) });
    const limited = objects.filter(({ kind }) => kind === 'Service' || kind === 'Job');
    expect(limited).toHaveLength(4);
    for (const name of names(limited)) expect(name).toMatch(/^a[-a-z0-9]{1,61}[a-z0-9]$/);
  });

  it('are shared by no two releases, and neither selects the Pods of the other', async () => {
    const values = ['crds=false', 'mode=split', 'metrics.serviceMonitor.enabled=true'];
    const [one = [], other = []] = await Promise.all(
      ['one', 'other'].map((name) => chartedWithHooks(values, { name })),
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
    const objects = await chartedWithHooks(values, { name: 'two' });
    const checks = objects.filter((object) => hookOf(object) === 'pre-delete');
    expect(checks).toHaveLength(1);
    const args = [
      ...['uninstall-check', '--end-settings-run', '--task-queue=two-durable-operator'],
      ...['--controllers=git-build', '--namespaces=team-1,team-2'],
    ];
    const containers = [{ image: 'durable-operator:0.4.0', args }];
    const spec = { serviceAccountName: 'two-durable-operator-watcher', containers };
    expect(checks[0]).toMatchObject({ spec: { template: { spec } } });
  });
});
