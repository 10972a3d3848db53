import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Directory } from '../../examples/database/directory.ts';
import { readManifests } from '../../local/manifests.ts';
import { SECRETS } from '../../src/api/built-in.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { Author } from '../support/author.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Operator } from '../support/operator.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';
import { textsIn } from '../support/texts.ts';

jest.setTimeout(300_000);

const DATABASES = { group: 'example.com', version: 'v1', plural: 'databases' };
const WITHIN_MS = 60_000;
const directory = new Directory();
const stage = setUpStage(async () => {
  directory.server.close();
  directory.server.closeAllConnections();
  await author.remove(stage);
});
const { cluster, temporal } = stage;
const passwords: string[] = [];
let author: Author;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  author = await Author.begin('database');
  await author.write(
    'src/crd.ts',
    "import { Database } from './kind.ts'; console.log(JSON.stringify(Database.manifest));",
  );
  await author.applyKinds(stage, 'src/crd.ts');
  namespace = await cluster.aNamespace();
  directory.server.listen(0, '127.0.0.1');
  await once(directory.server, 'listening');
  const url = `http://127.0.0.1:${(directory.server.address() as AddressInfo).port}`;
  operator = await author.start(stage, { DURABLE_OPERATOR_DIRECTORY_URL: url });
});

const at = (type: typeof DATABASES) => ({ type, namespace, name: 'shop' });

async function isReady(): Promise<boolean> {
  return conditionIn(await cluster.get(at(DATABASES)), 'Ready')['status'] === 'True';
}

/** As the Secret has it, and as it is. */
async function notePassword(): Promise<void> {
  const encoded = fieldsOf((await cluster.get(at(SECRETS)))?.['data'])['password'];
  if (typeof encoded !== 'string') throw new Error('there is no password');
  passwords.push(encoded, Buffer.from(encoded, 'base64').toString());
}

function expectNoPasswordIn(text: string): void {
  expect(passwords).toHaveLength(4);
  for (const password of passwords) expect(text).not.toContain(password);
}

describe('the password of the example database', () => {
  it('is generated, and generated again once somebody deletes it', async () => {
    const [database] = await readManifests(`${author.directory}/samples`);
    await cluster.create(DATABASES, { ...database, metadata: { name: 'shop', namespace } });
    await eventually(isReady, WITHIN_MS);
    await notePassword();
    const before = (await cluster.get(at(SECRETS)))?.metadata.uid;
    await cluster.delete(at(SECRETS));
    await eventually(async () => {
      const uid = (await cluster.get(at(SECRETS)))?.metadata.uid;
      return uid !== undefined && uid !== before;
    }, WITHIN_MS);
    await notePassword();
    await eventually(isReady, WITHIN_MS);
  });

  it('is in the history of no run', async () => {
    const texts: string[] = [];
    const query = `TaskQueue = '${author.taskQueue}'`;
    for await (const { workflowId, runId } of temporal.client.workflow.list({ query })) {
      const handle = temporal.client.workflow.getHandle(workflowId, runId);
      texts.push(textsIn(await handle.fetchHistory()), textsIn((await handle.describe()).raw));
    }
    expect(texts.join('\n')).toContain('createSecret');
    expectNoPasswordIn(texts.join('\n'));
  });

  it('is in no Event, no log line at level debug, and not in the status', async () => {
    const events = JSON.stringify(
      await eventually(async () => {
        const found = await cluster.eventsIn(namespace);
        return JSON.stringify(found).includes('created Secret') && found;
      }, WITHIN_MS),
    );
    const logs = JSON.stringify(operator.logs);
    expect(logs).toContain('createSecret');
    expectNoPasswordIn(events + logs + JSON.stringify(await cluster.get(at(DATABASES))));
  });
});
