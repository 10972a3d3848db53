import { describe, expect, it } from '@jest/globals';
import { draw } from './draw.ts';
import { asksForLongWait, isFault, needsOwnServers, printed, undisturbed, type Schedule } from './events.ts';

const ALL = { controllers: 'all', servers: false };
const seeds = Array.from({ length: 150 }, (_, index) => index + 1);
const namesIn = ({ events }: Schedule) =>
  events.map(({ what }) => (isFault(what) ? what.fault : what.change));

describe('a schedule', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(draw(7, ALL)).toEqual(draw(7, ALL));
    expect(draw(7, ALL).events).not.toEqual(draw(8, ALL).events);
  });

  it('is drawn from every fault and every change, over many seeds', () => {
    const drawn = new Set(seeds.flatMap((seed) => namesIn(draw(seed, { ...ALL, servers: true }))));
    expect([...drawn].sort()).toEqual(
      [
        ...['create pod', 'annotate pod', 'label pod', 'delete pod', 'probe'],
        ...['create set', 'scale set', 'delete set', 'delete Pods of set', 'relabel Pods of set'],
        ...[
          'take out Pods of set',
          'orphan Pods of set',
          'fail Pods of set',
          'create orphan',
          'create foreign pod',
        ],
        ...['create build', 'edit build', 'delete build', 'skip cleanup', 'delete Jobs of build'],
        ...['strip Jobs of build', 'create foreign job', 'forbid Pods'],
        ...['select team', 'delete binding', 'edit binding', 'replace binding', 'create foreign binding'],
        ...['delete team', 'create team'],
        ...['pause', 'request reconcile', 'poll', 'require approval', 'approve', 'reject', 'approve all'],
        ...['crash', 'stop', 'freeze', 'second leader', 'clock step', 'lost answers', 'resets', 'answers'],
        ...['answers for a while', 'slow', 'watch lag', 'duplicates', 'silence', 'watches expire'],
        ...['watches break', 'api server away', 'temporal away', 'temporal loses answers'],
        ...[
          'temporal refuses',
          'terminate runs',
          'meddle with runs',
          'admission',
          'big objects',
          'temporal restarts',
          'temporal is wiped',
        ],
        ...['api server restarts', 'etcd is saved', 'etcd is restored'],
      ].sort(),
    );
  });

  it('has each kind of what comes from outside among the seeds 1 to 20', () => {
    const schedules = seeds.slice(0, 20).map((seed) => draw(seed, ALL));
    const drawn = new Set(schedules.flatMap(namesIn));
    for (const name of ['big objects', 'take out Pods of set', 'admission', 'meddle with runs'])
      expect(drawn).toContain(name);
    expect(schedules.filter(asksForLongWait)).toHaveLength(1);
  });

  it('leaves servers that others use alone, unless they are its own', () => {
    expect(seeds.filter((seed) => needsOwnServers(draw(seed, ALL)))).toEqual([]);
    expect(needsOwnServers(draw(1, { ...ALL, servers: true }))).toBe(true);
  });

  it('is about the controllers that were asked for', () => {
    const changes = new Set(
      seeds.flatMap((seed) => namesIn(undisturbed(draw(seed, { ...ALL, controllers: 'pod-label' })))),
    );
    expect([...changes].sort()).toEqual(
      [
        ...['annotate pod', 'create pod', 'delete pod', 'label pod', 'probe', 'pause', 'request reconcile'],
      ].sort(),
    );
  });

  it('has the operator ask for approval by its option, or not', () => {
    const drawn = new Set(seeds.map((seed) => draw(seed, ALL).requireApprovalOver));
    expect([...drawn].sort()).toEqual([2, 3, 4, undefined]);
    const schedule = draw(seeds.find((seed) => draw(seed, ALL).requireApprovalOver === 2) ?? 0, ALL);
    expect(undisturbed(schedule).requireApprovalOver).toBe(2);
    expect(printed(schedule)).toMatch(/^--require-approval-over 2\n1\. /);
  });

  it('lifts each pause and each poll, and approves all in the end', () => {
    for (const seed of seeds) {
      const changes = draw(seed, ALL).events.flatMap(({ what }) => (isFault(what) ? [] : [what]));
      const held = new Map<string, boolean>();
      for (const what of changes) {
        if (what.change === 'pause') held.set(`paused ${what.on.kind} ${what.on.name}`, what.paused);
        if (what.change === 'poll')
          held.set(`polled ${what.on.kind} ${what.on.name}`, what.interval !== null);
      }
      expect([...held.values()]).not.toContain(true);
      expect(changes).toContainEqual({ change: 'approve all' });
    }
  });

  it('lifts what it forbids, and leaves no build that goes on failing', () => {
    for (const seed of seeds) {
      const changes = draw(seed, ALL).events.flatMap(({ what }) => (isFault(what) ? [] : [what]));
      const forbidden = changes.filter((what) => what.change === 'forbid Pods').map((what) => what.forbidden);
      expect(forbidden.at(-1) ?? false).toBe(false);
      const commands = new Map<string, string>();
      for (const what of changes) {
        if (what.change === 'delete build') commands.delete(what.build);
        if (what.change !== 'create build' && what.change !== 'edit build') continue;
        const { buildCommand } = what.spec;
        if (buildCommand !== undefined) commands.set(what.build, buildCommand);
      }
      expect([...commands.values()]).not.toContain('exit 1');
    }
  });
});

describe('the undisturbed schedule', () => {
  it('has the same changes in the same order, and no fault', () => {
    const schedule = draw(3, ALL);
    const changes = schedule.events.filter(({ what }) => !isFault(what));
    expect(undisturbed(schedule).events).toEqual(changes);
    expect(changes.length).toBeLessThan(schedule.events.length);
  });
});
