import type { Target } from './people.ts';
import type { Controller } from './place.ts';
import type { Tactic } from './tactics.ts';

/** A pause holds for longer than anything that was begun before it goes on: `PAUSE_SEEN_MS` in held-back.ts. */
const PAUSE_HOLDS_MS = 13_000;
/** So does a required approval: `APPROVAL_SEEN_MS` in held-back.ts. */
const APPROVAL_HOLDS_MS = 4_000;

const POD: Target = { kind: 'pod', name: 'web-3' };
const SET: Target = { kind: 'set', name: 'c' };
const BUILD: Target = { kind: 'build', name: 'kit' };
const HOME: Target = { kind: 'namespace', name: 'home' };
const TEAM: Target = { kind: 'namespace', name: 'team' };

/** What people ask by annotations: to pause, to reconcile, to approve. */
export const ASKS: Readonly<Record<Controller, readonly Tactic[]>> = {
  'pod-label': [
    ({ add, pause, fault, random }) => {
      add({ change: 'create pod', pod: POD.name, annotation: null });
      pause(POD, 1_000);
      add({ change: 'annotate pod', pod: POD.name, annotation: 'true' });
      if (random.chance(0.5)) add(fault());
      add({ change: 'request reconcile', on: POD });
      if (random.chance(0.7)) add({ change: 'pause', on: POD, paused: false });
    },
    // All that is in a Namespace.
    ({ add, fault, random }) => {
      add({ change: 'create pod', pod: POD.name, annotation: random.oneOf(['true', null]) });
      add({ change: 'pause', on: HOME, paused: true }, 1_000);
      if (random.chance(0.7)) add(fault());
      add({ change: 'annotate pod', pod: POD.name, annotation: random.oneOf(['true', null]) });
      add({ change: 'pause', on: HOME, paused: false });
    },
  ],
  'pod-set': [
    // Long enough that what is written cannot have been begun before.
    ({ add, pause, fault, random }, { sets }) => {
      sets.ensure(SET.name, 2);
      pause(SET, 1_500);
      if (random.chance(0.5)) add(fault());
      add({ change: 'request reconcile', on: SET }, PAUSE_HOLDS_MS);
      sets.ensure(SET.name, 6);
      add({ change: 'delete Pods of set', set: SET.name, count: 1 });
      add({ change: 'pause', on: SET, paused: false }, 2_500);
    },
    // Deleted only once that is approved, whoever dies meanwhile.
    ({ add, crash, random }, { sets }) => {
      sets.ensure(SET.name, 4);
      add({ change: 'require approval', on: SET, required: true }, 2_500);
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 2) }, APPROVAL_HOLDS_MS);
      add({ change: 'request reconcile', on: SET }, 2_500);
      if (random.chance(0.6)) add(crash({ kind: 'write', resource: random.oneOf(['pods', 'podsets']) }));
      add({ change: 'approve', on: SET });
    },
    // A rejection stands, whoever dies meanwhile; what is asked for in the end is less, or approved after all.
    ({ add, crash, random }, { sets }) => {
      sets.ensure(SET.name, 6);
      add({ change: 'require approval', on: SET, required: true }, 2_500);
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 1) }, APPROVAL_HOLDS_MS);
      add({ change: 'reject', on: SET }, 1_000);
      if (random.chance(0.6)) add(crash({ kind: 'write', resource: 'podsets' }));
      add({ change: 'request reconcile', on: SET }, 2_500);
      if (random.chance(0.5)) add({ change: 'scale set', set: SET.name, replicas: 5 });
      else add({ change: 'approve', on: SET });
    },
    // It looks again and again while it is scaled, as far as the option of the operator lets it.
    ({ add, poll, fault, random }, { sets }) => {
      sets.ensure(SET.name, 7);
      poll(SET);
      if (random.chance(0.6)) add(fault());
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 5) }, 3_000);
      add({ change: 'request reconcile', on: SET }, 1_000);
      add({ change: 'scale set', set: SET.name, replicas: random.between(0, 4) }, 4_000);
    },
  ],
  'git-build': [
    // A pause does not hold its end.
    ({ add, pause, crash }, { builds }) => {
      builds.ensure(BUILD.name);
      pause(BUILD, 3_000);
      add(crash({ kind: 'write', resource: 'xxxes' }));
      builds.remove(BUILD.name);
    },
    // The old binary goes once that is approved.
    ({ add, fault, random }, { builds }) => {
      builds.ensure(BUILD.name);
      add({ change: 'require approval', on: BUILD, required: true }, 2_500);
      builds.edit(BUILD.name, { binaryName: 'kit-2' }, APPROVAL_HOLDS_MS);
      if (random.chance(0.6)) add(fault());
      for (let plans = 0; plans < 2; plans += 1) add({ change: 'approve', on: BUILD }, 2_500);
    },
    // Nothing new comes of looking again.
    ({ add, poll, fault, random }, { builds }) => {
      builds.ensure(BUILD.name);
      poll(BUILD);
      add({ change: 'request reconcile', on: BUILD }, random.between(100, 3_000));
      if (random.chance(0.6)) add(fault());
      add({ change: 'request reconcile', on: BUILD }, 3_000);
    },
  ],
  'namespace-role-binding': [
    ({ add, fault, random }) => {
      add({ change: 'pause', on: TEAM, paused: true }, 1_500);
      add({ change: 'delete binding' });
      if (random.chance(0.6)) add(fault());
      add({ change: 'pause', on: TEAM, paused: false });
    },
    ({ add, poll, fault, random }) => {
      poll(TEAM);
      add({ change: 'delete binding' }, 1_500);
      if (random.chance(0.6)) add(fault());
      add({ change: 'request reconcile', on: TEAM });
    },
  ],
};
