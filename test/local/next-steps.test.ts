import { describe, expect, it } from '@jest/globals';
import { readManifests } from '../../local/manifests.ts';
import { howToRemoveSamples, nextSteps } from '../../local/next-steps.ts';
import { SAMPLES } from '../../local/samples.ts';

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

  it('names no kubeconfig where kubectl finds it by itself', () => {
    expect(howToRemoveSamples(undefined)).not.toContain('KUBECONFIG');
  });
});
