import { describe, expect, it } from '@jest/globals';
import { howToRemoveSamples, nextSteps, questionAboutCluster } from '../../local/next-steps.ts';
import { configOf } from '../support/configs.ts';

describe('a command to be pasted', () => {
  it('asks, and kills, the operator that runs here', () => {
    const lines = nextSteps({
      program: 'shop-operator',
      mainModule: '/opt/my operator/src/main.ts',
      kubeconfigFile: undefined,
      kubectl: 'kubectl',
      temporalAddress: '127.0.0.1:7233',
      sample: 'shop/sample',
    });
    expect(lines.filter((line) => /export|alias kubectl/.test(line))).toEqual([]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}alias shop-operator='\S+ .*\/opt\/my operator\/src\/main\.ts.*'$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}shop-operator history shop\/sample /));
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}pkill -KILL -f '\/opt\/my operator\/src\/main\.ts run' /),
    );
  });

  it('is quoted where its path needs it', () => {
    expect(howToRemoveSamples('/home/a/config', 'samples')).toContain(' KUBECONFIG=/home/a/config kubectl ');
    expect(howToRemoveSamples("/home/it's me/config", 'samples')).toContain(
      String.raw` KUBECONFIG='/home/it'\''s me/config' kubectl delete -f samples`,
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
