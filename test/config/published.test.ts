import { describe, expect, it } from '@jest/globals';
import { defaultOptions } from '../../src/config/config.ts';
import { clusterIn, settingsFrom, textsToPublish } from '../../src/config/published.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { VERSION } from '../../src/config/version.ts';

/** A file that is there: this one. */
const SECRET = import.meta.filename;

const options = (() => {
  const defaults = defaultOptions(durableOperator);
  return {
    ...defaults,
    reconciliation: { ...defaults.reconciliation, namespaces: ['a', 'b'] },
    encryption: { keysFile: SECRET },
    cluster: { ...defaults.cluster, kubeconfig: SECRET },
  };
})();

/** What of them everybody may know. */
const PUBLISHED = ['reconciliation', 'controller namespace-role-binding', 'controller git-build'] as const;

const publisher = (version: string) => ({ version, clusterUid: 'uid-1' });

describe('published settings', () => {
  it('are read back as the operator has them', () => {
    expect(
      settingsFrom(durableOperator, textsToPublish(durableOperator, options, publisher('1.2.3'))),
    ).toMatchObject({
      version: '1.2.3',
      options: Object.fromEntries(PUBLISHED.map((group) => [group, Reflect.get(options, group)])),
    });
  });

  it('say of which cluster the operator is', () => {
    expect(clusterIn(textsToPublish(durableOperator, options, publisher('1.2.3')))).toEqual({ uid: 'uid-1' });
    const cluster = { ...options.cluster, name: 'prod' };
    const named = textsToPublish(
      durableOperator,
      { ...options, cluster },
      { version: '1.2.3', clusterUid: undefined },
    );
    expect(clusterIn(named)).toEqual({ name: 'prod' });
    expect(clusterIn({ version: '0.3.0' })).toEqual({});
  });

  it('say which Lease its leader holds', () => {
    const lease = { namespace: 'system', name: 'operator' };
    const texts = textsToPublish(durableOperator, options, { ...publisher('1.2.3'), lease });
    expect(settingsFrom(durableOperator, texts)?.lease).toEqual(lease);
    const without = textsToPublish(durableOperator, options, publisher('1.2.3'));
    expect(settingsFrom(durableOperator, without)?.lease).toBeUndefined();
  });

  it('contain neither keys nor where they are', () => {
    expect(JSON.stringify(textsToPublish(durableOperator, options, publisher('1.2.3')))).not.toContain(
      SECRET,
    );
  });

  it('name the build ID of the operator, which is its version where nobody has set one', () => {
    const worker = { ...options.worker, deploymentName: 'operator' };
    const texts = textsToPublish(durableOperator, { ...options, worker }, publisher('1.2.3'));
    expect(texts).toMatchObject({ 'worker-deployment': 'operator', 'worker-build-id': VERSION });
  });

  it('of a newer operator are read as far as they are known', () => {
    const texts = { ...textsToPublish(durableOperator, options, publisher('9.0')), 'some-new-option': 'x' };
    expect(settingsFrom(durableOperator, texts)?.options.reconciliation.namespaces).toEqual(['a', 'b']);
  });

  it('with a value that this program does not know are none', () => {
    expect(
      settingsFrom(durableOperator, {
        ...textsToPublish(durableOperator, options, publisher('9.0')),
        controllers: 'some-new-one',
      }),
    ).toBeUndefined();
  });
});
