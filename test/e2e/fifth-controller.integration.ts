import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refOf, uniqueName } from '../support/cluster.ts';
import { charted } from '../support/delivered.ts';
import { eventually } from '../support/eventually.ts';
import { startOperator } from '../support/operator.ts';
import { ProjectCopy } from '../support/project-copy.ts';
import { grant, revoke, type ServiceAccount } from '../support/service-accounts.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const PAGE = join(import.meta.dirname, '../../docs/adding-a-controller.md');
const JOBS = { group: 'batch', version: 'v1', plural: 'jobs' };
const { cluster, temporal, kubeconfigOf } = setUpStage(async () => {
  await revoke(cluster, role);
  await project.remove();
});
const role = uniqueName();
let project: ProjectCopy;

beforeAll(async () => {
  project = await ProjectCopy.make();
  await followThePage();
});

/** Does what docs/adding-a-controller.md says, and nothing else. */
async function followThePage(): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  for (const [, language, path = '', text = ''] of page.matchAll(/```(ts|diff)\n\/\/ (\S+)\n(.*?)```/gs)) {
    if (language === 'ts') await project.create(path, text);
    else await project.patch(path, text.split('\n').slice(0, -1));
  }
  await project.run(process.execPath, 'deploy/generate.ts');
}

/** Gives a service account the permissions that the chart gives the controller, and nothing else. */
async function allowIt(account: ServiceAccount): Promise<void> {
  const chart = join(project.directory, 'deploy/helm');
  const objects = await charted(['controllers={job-ttl}'], { chart });
  const manifest = objects.find(({ metadata }) => metadata.name === 'durable-operator-manager-role');
  await grant(cluster, { name: role, rules: manifest?.['rules'], accounts: [account] });
}

describe('a fifth controller, built as docs/adding-a-controller.md says', () => {
  it('adds a folder and a file of its own, an entry in a list, and what is generated', async () => {
    expect(await project.changes()).toEqual([
      'activities/job-ttl.ts',
      'deploy/helm/files/permissions.yaml',
      'deploy/install.yaml',
      'src/controllers/job-ttl/controller.ts',
      'src/controllers/job-ttl/decide.ts',
      'src/durable-operator.ts',
    ]);
  });

  it('passes the types, the boundaries and the lint', async () => {
    const ours = (await project.changes()).filter((path) => path.endsWith('.ts'));
    await project.tool('typescript/bin/tsc', '-p', 'tsconfig.json');
    await project.tool('typescript/bin/tsc', '-p', 'workflows/tsconfig.json');
    const boundaries = ['src', 'workflows', 'activities', '--preserve-symlinks'];
    await project.tool('dependency-cruiser/bin/dependency-cruise.mjs', ...boundaries);
    await project.tool('eslint/bin/eslint.js', ...ours);
  });

  it('does its work with the generated permissions, and its run says so', async () => {
    const namespace = await cluster.aNamespace();
    const account = { namespace, name: 'default' };
    await allowIt(account);
    await startOperator({
      kubeconfig: await kubeconfigOf(account),
      args: ['--controllers', 'job-ttl'],
      program: join(project.directory, 'src/main.ts'),
    });
    const containers = [{ name: 'c', image: 'busybox' }];
    const job = await cluster.create(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'forgotten', namespace },
      spec: { template: { spec: { restartPolicy: 'Never', containers } } },
    });
    await eventually(async () => {
      const live = await cluster.get({ type: JOBS, namespace, name: 'forgotten' });
      expect(live?.['spec']).toMatchObject({ ttlSecondsAfterFinished: 86_400 });
      return true;
    }, 30_000);
    await eventually(async () => {
      const [run] = await temporal.runsOf(refOf('job-ttl', job));
      expect(run).toMatchObject({ status: 'COMPLETED', result: 'set the TTL to 86400 s' });
      return true;
    }, 30_000);
  });
});
