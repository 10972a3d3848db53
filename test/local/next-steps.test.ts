import { describe, expect, it } from '@jest/globals';
import { readManifests } from '../../local/manifests.ts';
import { howToRemoveSamples, nextSteps, questionAboutCluster } from '../../local/next-steps.ts';
import { SAMPLES } from '../../local/samples.ts';
import { configOf } from '../support/configs.ts';

const WHERE = {
  cluster: { kubeconfigFile: undefined, kubectl: 'kubectl' },
  temporal: { address: '127.0.0.1:7233', namespace: 'default', uiUrl: undefined },
};

const LOCAL = { program: '/opt/my operator/src/main.js', roleBindingPrefix: 'ad-kubernetes-' };

describe('the commands to try', () => {
  it('name samples that there are', async () => {
    const named = nextSteps(WHERE, LOCAL).join('\n');
    const samples = (await readManifests(SAMPLES)).map(({ metadata }) => metadata.name);
    expect(samples.filter((name) => !named.includes(name))).toEqual([]);
    expect(named.match(/\bkubectl (?:annotate|scale|delete) \S+ \S+/g)).toEqual([
      'kubectl annotate pod my-nginx',
      'kubectl delete rolebinding ad-kubernetes-team-1',
      'kubectl scale podset podset-sample',
      'kubectl scale podset podset-sample',
      'kubectl delete quota pods',
      'kubectl delete xxx xxx-sample',
    ]);
  });
});

describe('a command to be pasted', () => {
  it('asks, and kills, the operator that runs here', () => {
    const lines = nextSteps(WHERE, LOCAL);
    expect(lines).toContain("  pkill -KILL -f '/opt/my operator/src/main.js run'");
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}alias kubectl-durable='\S+ .*\/opt\/my operator\/src\/ask\/main\.js.*'$/),
    );
  });

  it('is quoted where its path needs it', () => {
    expect(howToRemoveSamples('/home/a/config')).toContain(' KUBECONFIG=/home/a/config kubectl ');
    expect(howToRemoveSamples("/home/it's me/config")).toContain(
      String.raw` KUBECONFIG='/home/it'\''s me/config' kubectl `,
    );
  });
});

describe('the question about a given cluster', () => {
  it('names the cluster, the controllers and what they give', async () => {
    const config = await configOf({ args: ['dev'] });
    expect(questionAboutCluster(config, 'https://prod.example.com:6443')).toBe(
      'This uses https://prod.example.com:6443. It applies the custom resource definitions and the samples, and runs ' +
        'pod-label, namespace-role-binding, pod-set, git-build in all namespaces, where namespace-role-binding gives ' +
        'groups the ClusterRole edit. Continue? (To stay on this machine: unset KUBECONFIG)',
    );
  });
});
