import { describe, expect, it } from '@jest/globals';
import { isOlder, KnownObjects, type Projection, type Sighting } from '../../src/watcher/known-objects.ts';

function pod(uid: string, resourceVersion: string): Projection {
  return { key: 'default/web', uid, resourceVersion };
}

function seen(uid: string, resourceVersion: string): Sighting<Projection> {
  return { ...pod(uid, resourceVersion), projection: pod(uid, resourceVersion) };
}

function known(): { objects: KnownObjects<Projection>; told: string[] } {
  const told: string[] = [];
  const objects = new KnownObjects<Projection>(({ type, object }) => {
    told.push(`${type} ${object.uid}@${object.resourceVersion}`);
  });
  return { objects, told };
}

describe('KnownObjects', () => {
  it('ignores the deletion of a predecessor also where versions cannot be compared', () => {
    const { objects, told } = known();
    objects.changed(seen('new', 'opaque-b'));
    objects.vanished(pod('old', 'opaque-a'));
    expect(told).toEqual(['added new@opaque-b']);
  });

  it('ignores that an object left the selector where it has come back since', () => {
    const { objects, told } = known();
    objects.changed(seen('a', '7'));
    objects.vanished(pod('a', '6'));
    expect(told).toEqual(['added a@7']);
  });
});

describe('isOlder', () => {
  it.each([
    ['9', '10', true],
    ['10', '9', false],
    ['99999999999999999998', '99999999999999999999', true],
    ['1', 'b', false],
  ])('%s than %s: %s', (version, than, older) => {
    expect(isOlder(version, than)).toBe(older);
  });
});
