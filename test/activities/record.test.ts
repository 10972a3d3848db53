import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { CONFIG_MAPS } from '../../src/api/built-in.ts';
import { defineController } from '../../src/api/controller.ts';
import { defineKind } from '../../src/api/kind.ts';
import { PODS } from '../../src/api/kinds.ts';
import { explore } from '../../testing/index.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** A controller that chooses a name once, which the status has to hold before anything is made of it. */

const Lease = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Lease', description: 'An address that is leased.' },
  spec: z.object({ network: z.string() }),
  status: z.object({ address: z.string().optional(), note: z.string().optional() }),
});
const NOBODY = 'nobody has the address';

const lease = defineController({
  name: 'lease',
  for: Lease,
  permissions: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create'] }],
  observe: ({ resource: { metadata }, kube }) =>
    kube.get({ type: CONFIG_MAPS, namespace: metadata.namespace, name: metadata.name }),
  steps: {
    take: {
      summary: 'take the address',
      external: false,
      run: async ({ resource: { metadata, status }, kube }) => {
        const { namespace, name } = metadata;
        await kube.create(CONFIG_MAPS, { metadata: { namespace, name }, data: { address: status.address } });
        return `took ${status.address ?? 'nothing'}`;
      },
    },
  },
  decide({ resource: { spec, status }, observed, nowMs }, next) {
    if (observed) return next.converged('the address is taken');
    const address = status.address ?? `${spec.network}.${nowMs}`;
    return next.record({ address }, next.do.take(NOBODY));
  },
  status: ({ resource: { status } }) => ({ ...status, note: 'leased' }),
});

const world = (controller: typeof lease) =>
  new AuthorWorld(controller, { types: [CONFIG_MAPS], spec: { network: '10.0.0' } });

describe('next.record', () => {
  it('writes to the status before the step that needs it', async () => {
    const of = world(lease);
    expect(await of.run()).toEqual(['updateStatus', 'take', 'updateStatus']);
    expect(of.requests).toEqual(['PATCH front/status', 'POST shop/configmaps', 'PATCH front/status']);
    expect(of.status).toMatchObject({ address: '10.0.0.0', note: 'leased' });
    expect(of.condition('Ready')).toMatchObject({ status: 'True' });
  });

  it('is told in the condition meanwhile', async () => {
    const of = world(lease);
    const refused = { status: 403, body: JSON.stringify({ kind: 'Status', code: 403, message: 'no' }) };
    const failing = new AuthorWorld(lease, {
      types: [CONFIG_MAPS],
      spec: { network: '10.0.0' },
      refuse: ({ method }) => (method === 'POST' ? refused : undefined),
    });
    await failing.run();
    expect(failing.status).toMatchObject({ address: '10.0.0.0' });
    expect((await of.step('updateStatus')).did).toEqual([{ did: 'updated', what: 'the status' }]);
    expect(of.condition('Ready')?.['message']).toContain(NOBODY);
  });

  it('goes on where the status says it already', async () => {
    const decide: typeof lease.decide = (_, next) =>
      next.record({ address: '10.0.0.1' }, next.converged('it is chosen'));
    const of = world({ ...lease, decide });
    expect(await of.run()).toEqual(['updateStatus']);
    expect(of.condition('Ready')).toMatchObject({ status: 'True', message: 'it is chosen' });
  });

  it('has an Event of that write, and no other', async () => {
    const event = { reason: 'Chosen', action: 'Choose', message: 'it is 10.0.0.1' };
    const decide: typeof lease.decide = (_, next) =>
      next.record({ address: '10.0.0.1' }, next.converged('it is chosen'), { event });
    const of = world({ ...lease, decide });
    const written = await of.step('updateStatus');
    expect(written.events).toEqual([
      {
        type: 'Normal',
        reason: 'Chosen',
        action: 'Choose',
        note: 'it is 10.0.0.1',
        occasion: expect.any(String),
      },
    ]);
    expect((await of.step('observe')).events).toEqual([]);
  });

  it('gives Ready a reason of its own, unless something is wrong', async () => {
    const of = (decide: NonNullable<typeof lease.decide>) => world({ ...lease, decide });
    const address = '10.0.0.1';
    const taken = of((_, next) => next.reason('Taken', next.record({ address }, next.converged('it is'))));
    expect(await taken.run()).toEqual(['updateStatus']);
    expect(taken.condition('Ready')).toMatchObject({ status: 'True', reason: 'Taken', message: 'it is' });
    const cause = { reason: 'Broken', message: 'it is broken', advice: [] };
    const wait = { recheckAfter: '1m', cause, action: 'Take' };
    const broken = of((_, next) => next.record({ address }, next.reason('Taking', next.wait('it', wait))));
    const { events } = await broken.step('updateStatus');
    expect(broken.condition('Ready')).toMatchObject({ status: 'False', reason: 'Broken' });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'Broken', action: 'Take' }]);
    const ready = of((_, next) => next.reason('Taken', next.stalled(cause), { isReady: true }));
    await ready.run();
    expect(ready.condition('Ready')).toMatchObject({ status: 'True', reason: 'Broken' });
    expect(ready.condition('Stalled')).toMatchObject({ status: 'True', reason: 'Broken' });
  });

  it('says what comes next in the same write, and is what the declared objects follow from', async () => {
    const phased = defineController({
      name: 'phased',
      for: Lease,
      owns: [CONFIG_MAPS],
      children: ({ resource: { status } }) =>
        status.note === undefined
          ? []
          : [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: status.note } }],
      decide: ({ resource: { status } }, next) =>
        next.record({ note: status.note ?? 'first' }, next.wait('the phase to end', { recheckAfter: '1m' })),
      status: ({ resource: { status } }) => status,
    });
    const of = new AuthorWorld(phased, { types: [CONFIG_MAPS], spec: { network: '10.0.0' } });
    expect(await of.run()).toEqual(['updateStatus', 'createConfigMap']);
    expect(of.condition('Ready')?.['message']).toContain('the phase to end');
  });

  it('fails where the status would lose it again', async () => {
    const losing = world({ ...lease, status: () => ({ note: 'leased' }) });
    expect(await losing.run()).toEqual([
      'updateStatus',
      'observe',
      'failed: decide of controller lease has failed: controller lease records address, but its status does not return that',
    ]);
  });

  it('is for fields of the kind alone', () => {
    defineController({
      name: 'other',
      for: Lease,
      // @ts-expect-error -- the kind has no such field
      decide: (_, next) => next.record({ colour: 'red' }, next.converged('so')),
    });
    defineController({
      ...{ name: 'pods', for: PODS, view: () => 'seen' },
      // @ts-expect-error -- a built-in type has no status of ours
      decide: (_, next) => next.record({}, next.converged('so')),
    });
  });

  it('survives whatever fails on the way', async () => {
    const { unexplored } = await explore(lease, { resource: { spec: { network: '10.0.0' } } });
    expect(unexplored).toEqual([]);
  });
});
