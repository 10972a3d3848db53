import type { Objects } from './drawn-changes.ts';
import type { Pen } from './pen.ts';
import type { Controller } from './place.ts';

/** Some events that belong together, in their order. */
export type Tactic = (pen: Pen, objects: Objects) => void;

/** A probe ends what it is made for. */
const PROBED_MS = 90_000;

/** Faults and changes that are worth more together: each is what a defect of this kind of program needs to be seen. */
export const TACTICS: Readonly<Record<Controller, readonly Tactic[]>> = {
  'pod-label': [
    // Deleted and created again while nobody sees it.
    ({ add, random }) => {
      add({ fault: 'silence', lastsMs: 2_500 });
      add({ change: 'delete pod', pod: 'web-0' });
      add({ change: 'create pod', pod: 'web-0', annotation: random.oneOf(['true', null]) });
      add({ fault: 'watches expire', count: 1 });
    },
    // Changed while the watch is away, with nothing that comes after it.
    ({ add }) => {
      add({ fault: 'api server away', lastsMs: 1_500 });
      add({ change: 'annotate pod', pod: 'web-1', annotation: null }, 300);
      add({ change: 'annotate pod', pod: 'web-2', annotation: 'true' }, 100);
    },
    ({ add }) => {
      add({ fault: 'temporal away', lastsMs: 3_000 });
      add({ change: 'annotate pod', pod: 'web-0', annotation: 'true' }, 200);
      add({ change: 'annotate pod', pod: 'web-1', annotation: null }, 50);
      add({ fault: 'watches break' }, 500);
    },
    // Back and forth.
    ({ add }) => {
      for (const annotation of ['true', null, 'true', null, 'true']) {
        add({ change: 'annotate pod', pod: 'web-2', annotation }, 60);
      }
    },
  ],
  'pod-set': [
    ({ add }, { sets }) => {
      sets.ensure('a', 5);
      add({ change: 'fail Pods of set', set: 'a' }, 2_500);
    },
    ({ add, crash }, { sets }) => {
      add(crash({ kind: 'write', resource: 'pods' }));
      sets.scale('b');
      sets.scale('b');
    },
    ({ add, random }, { sets }) => {
      sets.ensure('b', 2);
      // What was asked for happens, late or unseen, while it is asked for again.
      const requests = { kind: 'write', resource: 'pods' } as const;
      const count = random.between(1, 3);
      add(
        random.chance(0.5)
          ? { fault: 'lost answers', requests, count }
          : { fault: 'slow', requests, byMs: 2_500, count },
      );
      sets.ensure('b', 5);
      add({ change: 'delete Pods of set', set: 'b', count: 2 }, 2_500);
    },
    // The group is away, and others work.
    ({ add, name }, { has, sets }) => {
      sets.scale('a');
      add({
        fault: 'answers for a while',
        status: 404,
        requests: { kind: 'any', resource: 'podsets' },
        lastsMs: has('pod-label') ? PROBED_MS : 8_000,
      });
      if (has('pod-label')) add({ change: 'probe', pod: name('probe') }, 300);
    },
    ({ add, name }, { sets }) => {
      sets.ensure('a', 2);
      add({ change: 'create foreign pod', set: 'a', pod: name('foreign') });
      add({ change: 'create orphan', set: 'a', pod: name('orphan') });
      add({ change: 'relabel Pods of set', set: 'a', count: 1 }, 1_500);
    },
    // It dies with an attempt in hand that is not the first.
    ({ add }, { sets }) => {
      sets.ensure('b', 1);
      const requests = { kind: 'write', resource: 'pods' } as const;
      add({ fault: 'answers for a while', status: 503, requests, lastsMs: 2_500 }, 1_500);
      add({ fault: 'crash', write: 1, when: 'before it is sent', requests }, 20);
      add({ change: 'scale set', set: 'b', replicas: 0 }, 20);
      sets.ensure('b', 3);
    },
    ({ add, random }, { sets }) => {
      add({
        fault: 'answers for a while',
        status: random.oneOf([503, 403]),
        requests: { kind: 'write' },
        lastsMs: 8_000,
      });
      sets.scale('a');
      sets.scale('b');
    },
  ],
  'git-build': [
    // The create arrives when the resource is being deleted already.
    ({ add, random }, { builds }) => {
      builds.ensure('app');
      const requests = { kind: 'write', resource: 'jobs', method: 'POST' } as const;
      add({ fault: 'slow', requests, byMs: 3_500, count: 1 }, 2_500);
      builds.edit('app', { repository: random.oneOf(['slow', 'slower']) });
      builds.delete('app', 2_200);
    },
    // A cleanup that cannot run, and is then not wanted.
    ({ add }, { builds }) => {
      builds.ensure('tool');
      add({ change: 'forbid Pods', forbidden: true }, 3_500);
      builds.remove('tool');
      add({ change: 'skip cleanup', build: 'tool' }, 2_500);
      add({ change: 'forbid Pods', forbidden: false }, 2_000);
    },
    ({ add, crash, random }, { builds }) => {
      builds.ensure('app');
      add(crash({ kind: 'write', resource: random.oneOf(['jobs', 'xxxes']) }), 2_000);
      builds.delete('app');
    },
    ({ add, random }, { builds }) => {
      builds.ensure('tool');
      builds.edit('tool', { buildCommand: 'sleep infinity' }, 1_500);
      add({ change: random.oneOf(['delete Jobs of build', 'strip Jobs of build']), build: 'tool' }, 1_500);
      builds.edit('tool', { buildCommand: 'go build', binaryName: 'tool-4' }, 1_000);
    },
    // What is refused is quoted.
    ({ add }, { builds }) => {
      builds.ensure('app');
      add({
        fault: 'answers',
        status: 422,
        requests: { kind: 'write', resource: 'jobs', method: 'POST' },
        count: 2,
      });
      builds.edit('app', { repository: 'refused', binaryName: 'app-5' });
    },
    // The name is taken.
    ({ add }, { builds }) => {
      add({ change: 'create foreign job', job: 'taken' });
      builds.ensure('tool');
      builds.edit('tool', { jobName: 'taken' });
      builds.edit('tool', { jobName: 'tool-job' }, 3_000);
    },
    // The old binary goes.
    ({ add, random }, { builds }) => {
      builds.ensure('app');
      builds.edit('app', { binaryName: 'app-6' }, 3_000);
      add(
        { fault: 'lost answers', requests: { kind: 'write', resource: 'jobs' }, count: random.between(1, 2) },
        300,
      );
    },
  ],
  'namespace-role-binding': [
    // Taken away while the watcher still shows the namespace as selected.
    (_, { team }) => team.revoke(),
    // One namespace may not be read, and others are not held up.
    ({ add, name }, { has, team }) => {
      add({
        fault: 'answers for a while',
        status: 403,
        requests: { kind: 'any', namespace: 'team' },
        lastsMs: has('pod-label') ? PROBED_MS : 8_000,
      });
      add({ fault: 'stop', signal: 'SIGKILL', lastsMs: 0 });
      if (has('pod-label')) add({ change: 'probe', pod: name('probe') }, 300);
      team.change();
    },
    ({ add, crash }, { team }) => {
      add(crash({ kind: 'write', resource: 'rolebindings' }));
      team.change();
    },
    // Its stalled run is ended by hand.
    ({ add }, { team }) => {
      team.change();
      add({ fault: 'terminate runs' }, 3_000);
    },
  ],
};
