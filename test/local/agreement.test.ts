import { describe, expect, it } from '@jest/globals';
import { isAgreed } from '../../local/agreement.ts';
import { aFile, configOf, type Given } from '../support/configs.ts';

const KUBECONFIG = aFile('');
const SERVER = 'https://prod.example.com:6443';

/** What somebody is asked, and what comes of the answer. */
async function asked(given: Given, { isThere = true, says = false } = {}) {
  const questions: string[] = [];
  const person = {
    isThere,
    confirms: (question: string) => {
      questions.push(question);
      return Promise.resolve(says);
    },
  };
  const config = await configOf({ ...given, args: ['local', ...(given.args ?? [])] });
  return { agreed: await isAgreed(config, () => SERVER, person), questions };
}

describe('a person at a terminal, whose cluster is to be used,', () => {
  it.each([true, false])('is asked, and the answer counts: %s', async (says) => {
    const { agreed, questions } = await asked({ env: { KUBECONFIG } }, { says });
    expect(agreed).toBe(says);
    expect(questions).toEqual([
      'This uses https://prod.example.com:6443. It applies the custom resource definitions and the samples, and runs ' +
        'pod-label, namespace-role-binding, pod-set, git-build in all namespaces, where namespace-role-binding gives ' +
        'groups the ClusterRole edit. Go on? (To stay on this machine: unset KUBECONFIG)',
    ]);
  });

  it('is told what the options change', async () => {
    const args = ['--kubeconfig', KUBECONFIG, '--namespaces', 'a,b', '--controllers', 'pod-label'];
    const { questions } = await asked({ args });
    expect(questions.join()).toContain('and runs pod-label in a, b. Go on?');
  });
});

describe('nobody is asked', () => {
  it('where the cluster is our own', async () => {
    expect(await asked({})).toEqual({ agreed: true, questions: [] });
  });

  it('where nobody is at a terminal', async () => {
    expect(await asked({ env: { KUBECONFIG } }, { isThere: false })).toEqual({ agreed: true, questions: [] });
  });
});
