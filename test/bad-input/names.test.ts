import { describe, expect, it } from '@jest/globals';
import { eventObject } from '../../activities/events/event-object.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { workflowIdFor } from '../../src/api/resource-ref.ts';
import { isObjectName } from '../../src/api/kinds.ts';
import { controllersOf } from '../../src/program/program.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const NAMES = [1, 63, 64, 199, 200, 201, 253].map((length) => 'a'.repeat(length));
const ODD_NAMES = [...NAMES, `${'a'.repeat(199)}-.b`, `${'a.'.repeat(126)}a`];
const UID = 'e5d1a8c4-0f4e-4c5e-9d0e-6f1f3c1f2a3b';
const controllers = controllersOf(durableOperator, defaultOptions(durableOperator));
const refs = controllers.flatMap(({ name: controller }) =>
  ODD_NAMES.map((name) => ({ controller, namespace: 'n'.repeat(63), name, uid: UID })),
);

describe('of a resource of whatever name', () => {
  it('the workflow has an id that fits every database of Temporal’s, and a summary that Temporal takes', () => {
    for (const ref of refs) {
      expect(Buffer.byteLength(workflowIdFor(ref))).toBeLessThanOrEqual(255);
      expect(workflowIdFor(ref).endsWith(`/${UID}`)).toBe(true);
      // Temporal's dynamic configuration, limit.userMetadataSummarySize.
      for (const controller of controllers)
        expect(Buffer.byteLength(controller.summary(ref))).toBeLessThanOrEqual(400);
    }
  });

  it.each(['', '😀', 'x😀', 'é', 'x', '\ud83d'])('an Event has a name and a note that fit: %j', (part) => {
    const note = part.repeat(2000);
    const event = { type: 'Warning', reason: 'Refused', action: 'Create', note } as const;
    for (const ref of refs) {
      const about = { apiVersion: 'v1', kind: 'Pod' };
      const object = eventObject(ref, { about, event, program: durableOperator.name }, 0);
      expect(isObjectName(object.metadata.name)).toBe(true);
      const text = String(object['note']);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
      expect(text.endsWith(`; see: kubectl durable why pod/${ref.name} -n ${ref.namespace}`)).toBe(true);
    }
  });
});
