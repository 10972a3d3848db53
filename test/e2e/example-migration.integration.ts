import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Author } from '../support/author.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Operator } from '../support/operator.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(240_000);

const MIGRATIONS = { group: 'example.com', version: 'v1', plural: 'migrations' };
const JOBS = { group: 'batch', version: 'v1', plural: 'jobs' };
const WITHIN_MS = 90_000;
const stage = setUpStage(() => author.remove(stage));
const { cluster } = stage;
let author: Author;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  author = await Author.begin('migration');
  await author.applyKinds(stage, 'src/crd.ts');
  namespace = await cluster.aNamespace();
  operator = await author.start(stage);
});

/** The simulated nodes let a Job fail that has such a command. */
const FAILS = 'exit 1';

function migrate(name: string, commands: Readonly<Record<string, string>> = {}) {
  const spec = { image: 'busybox', backup: 'b', migrate: 'm', verify: 'v', rollback: 'r', ...commands };
  const metadata = { name, namespace };
  return cluster.create(MIGRATIONS, { apiVersion: 'example.com/v1', kind: 'Migration', metadata, spec });
}

async function eventuallyReady(name: string, wanted: string): Promise<void> {
  await eventually(async () => {
    const object = await cluster.get({ type: MIGRATIONS, namespace, name });
    const { status, reason } = conditionIn(object, 'Ready');
    return `${String(status)} ${String(reason)}` === wanted;
  }, WITHIN_MS);
}

/** The stages of a migration that have run. */
async function stagesOf(name: string): Promise<string[]> {
  const names = (await cluster.list(JOBS, { namespace })).map(({ metadata }) => metadata.name);
  return names.filter((each) => each.startsWith(`${name}-`)).map((each) => each.slice(name.length + 1));
}

describe('the example migration, on the packed package', () => {
  it('compiles', async () => {
    await author.compile();
  });

  it('runs its stages one after the other', async () => {
    await migrate('good');
    await eventuallyReady('good', 'True AsSpecified');
    expect((await stagesOf('good')).sort()).toEqual(['backup', 'migrate', 'verify']);
    const history = await author.ask(stage, 'history', 'migration/good', '-n', namespace);
    expect(history).toMatch(/started backup[^]*started migrate[^]*started verify/);
  });

  it('rolls back if the migration cannot be verified, says so, and names the log', async () => {
    await migrate('bad', { verify: FAILS });
    await eventuallyReady('bad', 'False RolledBack');
    expect((await stagesOf('bad')).sort()).toEqual(['backup', 'migrate', 'rollback', 'verify']);
    const why = await author.ask(stage, 'why', 'migration/bad', '-n', namespace);
    expect(why).toContain('verify failed, and the backup is restored');
    expect(why).toContain(`kubectl logs -n ${namespace} job/bad-verify`);
  });

  it('migrates nothing without a backup', async () => {
    await migrate('unsafe', { backup: FAILS });
    await eventuallyReady('unsafe', 'False BackupFailed');
    expect(await stagesOf('unsafe')).toEqual(['backup']);
  });

  it('goes on where it was after its operator was killed', async () => {
    await migrate('killed');
    await eventually(async () => (await stagesOf('killed')).includes('backup'), WITHIN_MS);
    await operator.end('SIGKILL');
    operator = await author.start(stage);
    await eventuallyReady('killed', 'True AsSpecified');
    expect((await stagesOf('killed')).sort()).toEqual(['backup', 'migrate', 'verify']);
  });
});
