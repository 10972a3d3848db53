import { createServer } from 'node:http';
import { z } from 'zod';
import { defineController, defineKind, operator, StepError } from '../../src/index.ts';

export const Lamp = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Lamp', description: 'A lamp of an outside system.' },
  spec: z.object({ isOn: z.boolean().default(true).meta({ description: 'Whether it is on.' }) }),
});

const { LAMPS_URL = '', HOOK_PORT = '0', IS_EMBEDDED } = process.env;

async function ask(method: string, id: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(`${LAMPS_URL}/${id}`, { method, signal }).catch((error: unknown) => {
    throw new StepError('unavailable', `the lamps do not answer: ${String(error)}`);
  });
  return answer.text();
}

const lamp = defineController({
  name: 'lamp',
  for: Lamp,
  observe: ({ resource, signal }) => ask('GET', resource.metadata.uid, signal),
  steps: {
    turnOn: {
      summary: 'turn it on',
      run: async ({ resource, signal }) => {
        await ask('PUT', resource.metadata.uid, signal);
        return 'turned it on';
      },
    },
  },
  decide: ({ resource: { spec }, observed }, next) =>
    spec.isOn && observed !== 'on' ? next.do.turnOn('it is off') : next.converged('it is as specified'),
});

/** Started with the addresses of the lamps and of the webhook, which is called as `POST /<namespace>/<name>`. */
if (import.meta.main) {
  const app = operator({ name: 'lamp-operator', controllers: [lamp] });
  const webhook = createServer((request, response) => {
    const [, namespace = '', name = ''] = (request.url ?? '').split('/');
    app.reconcile({ controller: 'lamp', namespace, name }).then(
      () => response.writeHead(204).end(),
      (error: unknown) => response.writeHead(503).end(String(error)),
    );
  });
  void app.running.then(() => webhook.listen(Number(HOOK_PORT), '127.0.0.1'));
  if (IS_EMBEDDED === undefined) await app.main();
  const ending = new AbortController();
  process.once('SIGTERM', () => ending.abort());
  await app.run(ending.signal, process.argv.slice(3));
  webhook.close();
  webhook.closeAllConnections();
}
