import { describe, expect, it } from '@jest/globals';
import type { ObjectMeta } from '../../src/api/object.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import {
  LABEL_VALUE_MAX,
  podLabel,
  POD_NAME_ANNOTATION,
  POD_NAME_LABEL,
  type LabelState,
} from '../../src/controllers/pod-label/controller.ts';

const controller = definedController(podLabel);

type Fields = Partial<ObjectMeta>;

function aPod(fields: Fields = {}): ObjectMeta {
  return { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7', ...fields };
}

const annotated = (value: string): Fields => ({ annotations: { [POD_NAME_ANNOTATION]: value } });
const labelled = (value: string): Fields => ({ labels: { [POD_NAME_LABEL]: value } });
const deleting: Fields = { deletionTimestamp: '2026-11-21T00:00:00Z' };
const longest = 'x'.repeat(LABEL_VALUE_MAX);

function observe(metadata: ObjectMeta) {
  const seen = controller.primary.view({ metadata });
  if (seen === undefined) throw new Error('each Pod is of interest');
  return controller.observation(seen, [], metadata);
}

const decide = (pod: ObjectMeta) => controller.decide(observe(pod), 0);

describe('the label of a Pod', () => {
  it.each<[rule: string, pod: ObjectMeta, state: LabelState]>([
    ['is missing where the annotation is true', aPod(annotated('true')), 'missing'],
    ['is missing where it has another value', aPod({ ...annotated('true'), ...labelled('db') }), 'missing'],
    ['is up to date where both are there', aPod({ ...annotated('true'), ...labelled('web') }), 'up to date'],
    ['is up to date where neither is there', aPod(), 'up to date'],
    ['goes with the annotation', aPod(labelled('web')), 'surplus'],
    ['goes where the annotation is True', aPod({ ...annotated('True'), ...labelled('web') }), 'surplus'],
    ['goes where the annotation is yes', aPod({ ...annotated('yes'), ...labelled('web') }), 'surplus'],
    ['goes where the annotation is empty', aPod({ ...annotated(''), ...labelled('web') }), 'surplus'],
    ['stays with a foreign value where the annotation is absent', aPod(labelled('db')), 'up to date'],
    ['may have 63 characters', aPod({ name: longest, ...annotated('true') }), 'missing'],
    ['may not have 64', aPod({ name: `${longest}x`, ...annotated('true') }), 'name too long'],
    ['of a long name that asks for nothing is of no interest', aPod({ name: `${longest}x` }), 'up to date'],
    ['is left alone where the Pod is being deleted', aPod({ ...annotated('true'), ...deleting }), 'gone'],
    ['is left in place where the Pod is being deleted', aPod({ ...labelled('web'), ...deleting }), 'gone'],
  ])('%s', (_, pod, state) => {
    expect(controller.primary.view({ metadata: pod })).toMatchObject({
      resource: { view: state },
      isBeingDeleted: pod.deletionTimestamp !== undefined,
    });
  });
});

describe('the decision', () => {
  it('is to add a missing label', () => {
    expect(decide(aPod(annotated('true')))).toEqual({
      do: 'addLabel',
      because: 'the annotation asks for the label',
    });
  });

  it('is to remove a surplus label', () => {
    expect(decide(aPod(labelled('web')))).toEqual({
      do: 'removeLabel',
      because: 'the annotation does not ask for the label',
    });
  });

  it.each([
    [aPod(), 'no update required'],
    [aPod({ ...annotated('true'), ...deleting }), 'the Pod is gone or finished'],
  ])('is nothing where nothing is to be done, and says why', (pod, because) => {
    expect(decide(pod)).toEqual({ do: 'converged', because });
  });

  it('is that a name too long stalls the run, and its cause and its Event say what to do', () => {
    const pod = aPod({ name: `${longest}x`, ...annotated('true') });
    const message = `the name of Pod shop/${longest}x has 64 characters, but a label value can have at most 63`;
    const remove = 'remove the annotation, or create the Pod with a shorter name';
    const run = `kubectl annotate pod ${longest}x -n shop padok.fr/add-pod-name-label-`;
    expect(decide(pod)).toEqual({
      do: 'stalled',
      reason: 'NameTooLong',
      message,
      advice: [remove, { run, to: 'stop asking for the label' }],
      event: { type: 'Warning', reason: 'NameTooLong', action: 'AddLabel', note: `${message}; ${remove}` },
    });
  });
});

describe('what the watcher keeps of a Pod', () => {
  it('is what a decision needs: neither labels nor annotations', () => {
    const pod = aPod({ ...annotated('true'), labels: { secret: 'of somebody' } });
    const kept = JSON.stringify(controller.primary.view({ metadata: pod }));
    expect(kept).toContain('"view":"missing"');
    expect(kept).not.toMatch(/secret|padok/);
  });

  it('is read as metadata alone, and finished Pods are left out by the server', () => {
    expect(controller.primary).toMatchObject({
      metadataOnly: true,
      fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
    });
  });
});

describe('what is news to an open run of a Pod', () => {
  it.each<[rule: string, pod: ObjectMeta, inputs: readonly string[]]>([
    ['missing', aPod(annotated('true')), ['the annotation asks for the label']],
    ['too long', aPod({ name: `${longest}x`, ...annotated('true') }), ['the annotation asks for the label']],
    ['surplus', aPod(labelled('web')), ['the annotation does not ask for the label']],
    ['up to date', aPod(), []],
    ['of a Pod that is being deleted', aPod({ ...annotated('true'), ...deleting }), []],
  ])('is what its annotation asks for, where the label does not follow it: %s', (_, pod, inputs) => {
    expect(controller.inputs?.(observe(pod))).toEqual(inputs);
  });
});
