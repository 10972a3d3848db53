import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { fieldsOf, listOf } from '../../src/api/fields.ts';
import { eventually } from '../../testing/eventually.ts';
import { uniqueName } from '../support/cluster.ts';
import type { Operator } from '../support/operator.ts';
import { setUpProgram } from '../support/programs.ts';
import { Site } from '../support/site-operator.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 60_000;
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' };
const NOTE = 'state.durable-operator.dev/site-operator.site-defaults';

const { cluster, temporal, start, ...program } = setUpProgram({ file: 'site-operator.ts', kinds: [Site] });
let namespace: string;
let operator: Operator;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  operator = await start();
});

const ask = (...args: readonly string[]) => program.ask(...args, '-n', namespace);

const at = (name: string) => ({ type: Site, namespace, name });

/** Of both controllers. */
async function runsOf({ metadata: { name, uid } }: KubernetesObject) {
  const controllers = ['site', 'site-defaults'];
  const runs = await Promise.all(
    controllers.map((controller) => temporal.runsOf({ controller, namespace, name, uid })),
  );
  return runs.flat();
}

function isAtRest({ metadata, status }: KubernetesObject): boolean {
  const ready = listOf(fieldsOf(status)['conditions']).find(({ type }) => type === 'Ready');
  const { generation, annotations: { [NOTE]: note = '{}' } = {} } = metadata;
  const noted = listOf(fieldsOf(JSON.parse(note))['conditions']).find(({ type }) => type === 'Ready');
  return [ready, noted].every(
    (each) => each?.['status'] === 'True' && each['observedGeneration'] === generation,
  );
}

async function create(name: string): Promise<void> {
  const metadata = { namespace, name };
  await cluster.create(Site, { apiVersion: 'example.com/v1', kind: 'Site', metadata, spec: { text: 'hi' } });
}

async function aSite(): Promise<KubernetesObject> {
  const name = uniqueName();
  await create(name);
  return untilAtRest(name);
}

async function untilAtRest(name: string): Promise<KubernetesObject> {
  const rested: KubernetesObject[] = [];
  await eventually(async () => {
    const site = await cluster.get(at(name));
    if (site === undefined || !isAtRest(site)) return false;
    const runs = await runsOf(site);
    rested.unshift(site);
    return runs.every(({ status }) => status === 'COMPLETED');
  }, WITHIN_MS);
  const [site] = rested;
  if (site === undefined) throw new Error(`there is no site ${name}`);
  return site;
}

describe('two controllers of one program for one kind', () => {
  it('both do their part: one writes the status, the other keeps its state in an annotation', async () => {
    const site = await aSite();
    const configMap = await cluster.get({ type: CONFIG_MAPS, namespace, name: `site-${site.metadata.name}` });
    expect(configMap?.['data']).toEqual({ text: 'hi', tier: 'free' });
    expect(site.metadata.finalizers).toEqual(['example.com/site-defaults']);
    expect(site['status']).toMatchObject({
      configMap: `site-${site.metadata.name}`,
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Ready', message: 'all declared objects are as they are declared' }),
      ]) as unknown,
    });
  });

  it('rest: nothing is written, and no run begins, while others come and go, and after a restart', async () => {
    const site = await aSite();
    const runs = await runsOf(site);
    await aSite();
    await cluster.patch(
      { type: CONFIG_MAPS, namespace, name: `site-${site.metadata.name}` },
      { metadata: { labels: { a: 'b' } } },
    );
    await operator.end('SIGTERM');
    operator = await start();
    await aSite();
    expect(await cluster.get(at(site.metadata.name))).toEqual(site);
    expect(await runsOf(site)).toEqual(runs);
  });

  it('both follow a change, and are told apart', async () => {
    const { metadata } = await aSite();
    const { name } = metadata;
    await cluster.patch(at(name), { spec: { tier: null } });
    const changed = await untilAtRest(name);
    expect(fieldsOf(changed['spec'])['tier']).toBe('free');

    const [both, one] = [await ask('why', `site/${name}`), await ask('why', `site-defaults/${name}`)];
    expect(both).toContain(`Site ${namespace}/${name} (site) is up to date`);
    expect(both).toContain(`Site ${namespace}/${name} (site-defaults) is up to date`);
    expect(one).toContain(`Site ${namespace}/${name} is up to date`);
    expect(one).toContain('the spec names a tier');
    expect(one).not.toContain('declared');

    const rows = (await ask('get', `site/${name}`)).trim().split('\n').slice(1);
    expect(rows.map((row) => row.split(/ +/).slice(1, 4))).toEqual([
      [`site/${name}`, 'site', 'UpToDate'],
      [`site/${name}`, 'site-defaults', 'UpToDate'],
    ]);
    const [history, ofOne] = [
      await ask('history', `site/${name}`),
      await ask('history', `site/${name}`.replace('site/', 'site-defaults/')),
    ];
    expect(history).toContain(`── Site ${namespace}/${name} (site-defaults), UID ${metadata.uid}`);
    expect(history).toContain('createConfigMap');
    expect(ofOne).toContain('filled in tier free');
    expect(ofOne).not.toContain('createConfigMap');
    expect(await ask('plan', `site/${name}`)).toContain('(site-defaults)');
  });

  it('are paused together, and are both asked to look again', async () => {
    const { metadata } = await aSite();
    const { name } = metadata;
    await ask('pause', `site/${name}`);
    await cluster.patch(at(name), { spec: { tier: null, text: 'ho' } });
    await eventually(
      async () => (await ask('why', `site/${name}`)).split('is paused').length === 3,
      WITHIN_MS,
    );
    await ask('resume', `site/${name}`);
    await untilAtRest(name);
    const reconciled = await ask('reconcile', `site/${name}`, '--wait');
    expect(reconciled).toContain('(site) is up to date');
    expect(reconciled).toContain('(site-defaults) is up to date');
  });

  it('ask first where a step always asks, and are approved together', async () => {
    const names = [uniqueName(), uniqueName()];
    for (const name of names) {
      await cluster.create(CONFIG_MAPS, { metadata: { namespace, name: `old-${name}` } });
      await create(name);
    }
    const [one = '', other = ''] = names.map((name) => `site/${name}`);
    const isHeld = async (site: string) =>
      (await ask('why', site)).includes('(site-defaults) is awaiting approval');
    await eventually(async () => (await isHeld(one)) && isHeld(other), WITHIN_MS);
    expect(await ask('plan', one)).toMatch(/on hold: awaiting approval to delete 1 ConfigMap \(old-/);
    const approved = await ask('approve', one, other, '--yes', '--because', 'agreed');
    expect(approved.match(/\(site-defaults\) approved: plan 1-/g)).toHaveLength(2);
    for (const name of names) {
      await untilAtRest(name);
      expect(await cluster.get({ type: CONFIG_MAPS, namespace, name: `old-${name}` })).toBeUndefined();
      expect(await ask('history', `site-defaults/${name}`)).toMatch(
        /deleted ConfigMap old-.*, approved.*agreed/,
      );
    }
  });

  it('let go of it: that with the finalizer once nothing is left', async () => {
    const { metadata } = await aSite();
    await cluster.delete(at(metadata.name));
    await eventually(async () => (await cluster.get(at(metadata.name))) === undefined, WITHIN_MS);
  });
});
