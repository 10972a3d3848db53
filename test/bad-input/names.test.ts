import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventObject } from '../../activities/event-object.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { workflowIdFor } from '../../src/contract/resource.ts';
import { controllersFor } from '../../src/controllers/index.ts';
import { isObjectName } from '../../src/controllers/kinds.ts';
import {
  annotationIn,
  decidePodLabel,
  POD_NAME_ANNOTATION,
  POD_NAME_LABEL,
} from '../../src/controllers/pod-label/decide.ts';
import { podView } from '../../src/controllers/pod-label/controller.ts';
import { HOSTILE_PARTS, HOSTILE_TEXTS, inserted, runs } from '../support/bad-input/values.ts';

const names = fc.oneof(
  fc.constantFrom(...[1, 63, 64, 199, 200, 201, 253].map((length) => 'a'.repeat(length))),
  fc.constantFrom(`${'a'.repeat(199)}-.b`, `${'a.'.repeat(126)}a`),
  fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?){0,3}$/),
);
const namespaces = names.filter((name) => name.length <= 63 && !name.includes('.'));
const UID = 'e5d1a8c4-0f4e-4c5e-9d0e-6f1f3c1f2a3b';
const controllers = controllersFor(defaultOptions());
const refs = fc.record({
  controller: fc.constantFrom(...controllers.map(({ name }) => name)),
  namespace: namespaces,
  name: names,
  uid: fc.constant(UID),
});

describe('of a resource of whatever name', () => {
  it('the workflow has an id that fits every database of Temporal’s, and a summary that Temporal takes', () => {
    fc.assert(
      fc.property(refs, (ref) => {
        expect(Buffer.byteLength(workflowIdFor(ref))).toBeLessThanOrEqual(255);
        expect(workflowIdFor(ref).endsWith(`/${UID}`)).toBe(true);
        // Temporal's dynamic configuration, limit.userMetadataSummarySize.
        for (const controller of controllers)
          expect(Buffer.byteLength(controller.summary(ref))).toBeLessThanOrEqual(400);
      }),
      runs(300),
    );
  });

  it('an Event has a name and a note that the API server takes, whatever it says', () => {
    const notes = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .tuple(fc.constantFrom('', 'x'), fc.constantFrom('😀', 'é', 'x'))
        .map(([start, part]) => start + part.repeat(2000)),
    );
    fc.assert(
      fc.property(refs, notes, (ref, note) => {
        const event = { type: 'Warning', reason: 'Refused', action: 'Create', note } as const;
        const object = eventObject(ref, { about: { apiVersion: 'v1', kind: 'Pod' }, event }, 0);
        expect(isObjectName(object.metadata.name)).toBe(true);
        const advice = `; see: kubectl durable why pod/${ref.name} -n ${ref.namespace}`;
        const text = String(object['note']);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
        expect(text.endsWith(advice)).toBe(true);
        expect(note.startsWith(text.slice(0, -advice.length).replace(/\ufffd$/, ''))).toBe(true);
      }),
      runs(300),
    );
  });
});

describe('whatever the annotation of a Pod is', () => {
  it('only exactly true asks for the label, whose value a name of more than 63 characters cannot be', () => {
    const values = fc.oneof(
      fc.constantFrom('true', undefined, 'True', 'yes', 'x'.repeat(2 ** 18), ...HOSTILE_TEXTS),
      fc.tuple(fc.constant('true'), fc.constantFrom(...HOSTILE_PARTS), fc.nat()).map(inserted),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(names, values, fc.boolean(), (name, value, isLabelled) => {
        const annotations = value === undefined ? {} : { [POD_NAME_ANNOTATION]: value };
        const labels = isLabelled ? { [POD_NAME_LABEL]: name } : {};
        const view = podView({ metadata: { name, uid: UID, resourceVersion: '1', annotations, labels } });
        const asked = name.length > 63 ? 'stalled' : 'addLabel';
        const expected =
          value === 'true' ? (isLabelled ? 'converged' : asked) : isLabelled ? 'removeLabel' : 'converged';
        expect(decidePodLabel(view).do).toBe(expected);
        expect(annotationIn(view).join().length).toBeLessThan(60);
      }),
      runs(300),
    );
  });
});
