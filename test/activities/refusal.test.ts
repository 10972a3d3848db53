import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { allow, defineController, defineKind, PODS, StepError, type Cause } from 'durable-operator';
import { AuthorWorld } from '../support/author-world.ts';

/** Of a team, which reads what its platform engineers say. */
const QUOTA: Cause = {
  reason: 'TeamQuota',
  message: 'the quota of the team is used up',
  advice: ['ask for more'],
};
const SECURITY: Cause = {
  reason: 'NotAllowed',
  message: 'Pods have to run as non-root',
  advice: ['see the wiki'],
};
const WEBHOOK: Cause = {
  reason: 'PolicyDown',
  message: 'the policy server is down',
  advice: ['call the team'],
};

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A Pod to be run.' },
  spec: z.object({}),
});

const task = defineController({
  name: 'task',
  for: Task,
  owns: [{ ...PODS, view: ({ metadata }) => metadata.name }],
  steps: {
    start: {
      summary: 'create the Pod',
      async run({ kube, resource: { metadata } }) {
        const { namespace, name } = metadata;
        await kube.create(PODS, { metadata: { namespace, name }, spec: { containers: [] } });
        return 'created the Pod';
      },
    },
  },
  decide: ({ owned: [pod] }, next) => (pod ? next.converged('it runs') : next.do.start('there is no Pod')),
  refusal({ message }) {
    if (message.includes('exceeded quota')) return QUOTA;
    if (message.includes('violates PodSecurity')) return SECURITY;
    return message.includes('failed calling webhook') ? WEBHOOK : undefined;
  },
  permissions: [allow(PODS, ['create'])],
});

/** In the words of the API server. */
const REFUSED = {
  quota: [
    403,
    'pods "front" is forbidden: exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3',
  ],
  security: [
    403,
    'pods "front" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
  ],
  webhook: [500, 'Internal error occurred: failed calling webhook "policy.example.com": connection refused'],
  other: [422, 'Pod "front" is invalid: spec.containers: Required value'],
} as const;

async function refusedBy(what: keyof typeof REFUSED) {
  const [status, message] = REFUSED[what];
  const reason = { 403: 'Forbidden', 422: 'Invalid', 500: 'InternalError' }[status];
  const body = JSON.stringify({ kind: 'Status', status: 'Failure', code: status, reason, message });
  const world = new AuthorWorld(task, {
    types: [PODS],
    spec: {},
    refuse: ({ method }) => (method === 'POST' ? { status, body } : undefined),
  });
  const story = await world.run();
  return { world, story };
}

describe('a refusal in the words of the controller', () => {
  it.each([
    ['quota', QUOTA],
    ['security', SECURITY],
    ['webhook', WEBHOOK],
  ] as const)('is in the condition: %s', async (what, { reason, message }) => {
    const { world, story } = await refusedBy(what);
    expect(world.condition('Ready')).toMatchObject({ status: 'False', reason });
    expect(world.condition('Ready')?.['message']).toContain(message);
    expect(story.at(-1)).toMatch(/^failed: /);
  });

  it('is told once: what is remembered of it stands in another process, too', async () => {
    const { world } = await refusedBy('quota');
    const written = world.requests.filter((each) => each.startsWith('PATCH')).length;
    await world.run({ isElsewhere: true });
    expect(world.requests.filter((each) => each.startsWith('PATCH'))).toHaveLength(written);
  });

  it('is in those of the library where the controller has none', async () => {
    const { world } = await refusedBy('other');
    expect(world.condition('Ready')).toMatchObject({ status: 'False', reason: 'Refused' });
  });
});

it('has the reason that a StepError gives', async () => {
  const failure = new StepError('refused', 'the name is taken', { reason: 'NameTaken', advice: ['wait'] });
  const run = () => Promise.reject(failure);
  const failing = { ...task, steps: { start: { summary: 'create the Pod', run } } };
  const world = new AuthorWorld(failing, { types: [PODS], spec: {} });
  await world.run();
  expect(world.condition('Ready')).toMatchObject({ reason: 'NameTaken', message: 'the name is taken; wait' });
});
