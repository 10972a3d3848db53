import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import {
  uninstallRefusal,
  stays,
  type HangingResources,
  type LeftBehind,
} from '../../src/ask/uninstall-check.ts';
import { NAMESPACES } from '../../src/api/kinds.ts';
import { BUILD_FINALIZER, BUILDS } from '../../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const NOTHING: LeftBehind = { hanging: [], runs: [], unattended: [], roleBindings: 0 };

function aBuild(name: string): KubernetesObject {
  return { metadata: { name, namespace: 'shop', uid: name, resourceVersion: '1' } };
}

function hanging(resources: readonly KubernetesObject[]): HangingResources {
  return { type: BUILDS, finalizer: BUILD_FINALIZER, resources };
}

function aRun(controller: string, runState?: 'Stalled'): LeftBehind['runs'][number] {
  const ref = { controller, namespace: 'shop', name: 'web', uid: 'u' };
  const closed = { taskQueue: 'ours', endedAtMs: undefined, version: undefined };
  return { ref, workflowId: 'w', runId: 'r', isOpen: true, startedAtMs: 0, runState, ...closed };
}

describe('the refusal to have the operator uninstalled', () => {
  it('names the resources of each controller that has a finalizer', () => {
    const shelves = {
      type: { ...NAMESPACES, kind: 'Shelf', plural: 'shelves' },
      finalizer: 'shop.io/books',
      resources: [{ metadata: { name: 'top', uid: 'top', resourceVersion: '1' } }],
    };
    expect(
      uninstallRefusal(
        { ...NOTHING, hanging: [hanging([aBuild('one'), aBuild('two')]), shelves] },
        'ours',
        durableOperator,
      ),
    ).toBe(
      [
        'Do not uninstall the operator of task queue ours yet.',
        '',
        '2 Xxxes with the finalizer job.finalizers.test.inspur.com, which only the operator removes.',
        'Delete them, and wait until they are gone:',
        '  kubectl delete xxxes.test.inspur.com one --namespace shop',
        '  kubectl delete xxxes.test.inspur.com two --namespace shop',
        '',
        '1 Shelf with the finalizer shop.io/books, which only the operator removes.',
        'Delete them, and wait until they are gone:',
        '  kubectl delete shelves top',
        '',
      ].join('\n'),
    );
  });

  it('names each open run, by the command that explains it', () => {
    const runs = [aRun('pod-set', 'Stalled'), aRun('namespace-role-binding'), aRun('of-another-version')];
    const text = uninstallRefusal({ ...NOTHING, runs }, 'ours', durableOperator);
    expect(text).toContain("3 runs that only the operator's workers would end");
    expect(text).toContain('  kubectl durable why podset/web -n shop # Stalled\n');
    expect(text).toContain('  kubectl durable why namespace/web\n');
    expect(text).toContain('  of-another-version/shop/web/u\n');
  });

  it('stays readable where there are many', () => {
    const builds = Array.from({ length: 100 }, (_, index) => aBuild(`b${index}`));
    const text = uninstallRefusal({ ...NOTHING, hanging: [hanging(builds)] }, 'ours', durableOperator);
    expect(text).toContain('100 Xxxes');
    expect(text.match(/kubectl delete/g)).toHaveLength(20);
    expect(text).toContain('  and 80 more\n');
  });
});

describe('the leave to uninstall the operator', () => {
  it('says what stays without an owner', () => {
    expect(
      stays(
        { ...NOTHING, unattended: [{ type: PodSetKind, objects: 'Pods', count: 2 }], roleBindings: 3 },
        'ours',
      ),
    ).toBe(
      [
        'Nothing would hang without the operator of task queue ours.',
        'PodSets that would stay, with Pods that nobody replaces or deletes: 2',
        'RoleBindings that would stay, with what they permit: 3',
        '',
      ].join('\n'),
    );
    expect(stays(NOTHING, 'ours')).toBe('Nothing would hang without the operator of task queue ours.\n');
  });
});
