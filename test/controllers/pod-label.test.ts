import { describe, expect, it } from '@jest/globals';
import type { ObjectMeta } from '../../src/contract/object.ts';
import { podLabel } from '../../src/controllers/pod-label/controller.ts';
import {
  decidePodLabel,
  LABEL_VALUE_MAX,
  POD_NAME_ANNOTATION,
  POD_NAME_LABEL,
  type PodLabelStep,
} from '../../src/controllers/pod-label/decide.ts';

type Fields = Partial<ObjectMeta>;

function aPod(fields: Fields = {}): ObjectMeta {
  return { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7', ...fields };
}

const annotated = (value: string): Fields => ({ annotations: { [POD_NAME_ANNOTATION]: value } });
const labelled = (value: string): Fields => ({ labels: { [POD_NAME_LABEL]: value } });
const deleting: Fields = { deletionTimestamp: '2026-11-21T00:00:00Z' };
const longest = 'x'.repeat(LABEL_VALUE_MAX);

describe('what a Pod calls for', () => {
  it.each<[rule: string, pod: ObjectMeta, step: PodLabelStep]>([
    ['the label is added where the annotation is true', aPod(annotated('true')), 'add'],
    [
      'a wrong label is corrected where the annotation is true',
      aPod({ ...annotated('true'), ...labelled('db') }),
      'add',
    ],
    ['nothing where both are there', aPod({ ...annotated('true'), ...labelled('web') }), 'nothing'],
    ['nothing where neither is there', aPod(), 'nothing'],
    ['the label goes with the annotation', aPod(labelled('web')), 'remove'],
    ['True is not true', aPod({ ...annotated('True'), ...labelled('web') }), 'remove'],
    ['yes is not true', aPod({ ...annotated('yes'), ...labelled('web') }), 'remove'],
    ['empty is not true', aPod({ ...annotated(''), ...labelled('web') }), 'remove'],
    ['a foreign value stays where the annotation is absent', aPod(labelled('db')), 'nothing'],
    ['a name of 63 characters can be a label', aPod({ name: longest, ...annotated('true') }), 'add'],
    ['a name of 64 characters cannot', aPod({ name: `${longest}x`, ...annotated('true') }), 'refuse'],
    ['a long name that asks for nothing is of no interest', aPod({ name: `${longest}x` }), 'nothing'],
    ['a Pod being deleted is left alone', aPod({ ...annotated('true'), ...deleting }), 'nothing'],
    ['a Pod being deleted keeps its label', aPod({ ...labelled('web'), ...deleting }), 'nothing'],
  ])('%s', (_, pod, step) => {
    expect(decidePodLabel(pod)).toBe(step);
  });

  it('is the same once it was done', () => {
    for (const fields of [annotated('true'), {}]) {
      const labels = decidePodLabel(aPod(fields)) === 'add' ? labelled('web') : {};
      expect(decidePodLabel(aPod({ ...fields, ...labels }))).toBe('nothing');
    }
  });
});

describe('what the watcher knows of a Pod', () => {
  const project = (pod: ObjectMeta) => {
    const projection = podLabel.primary.project({ metadata: pod });
    if (projection === undefined) throw new Error('every Pod is of interest');
    return projection;
  };

  it('is where it is, which one, and what it calls for: neither labels nor annotations', () => {
    const pod = aPod({ ...annotated('true'), labels: { secret: 'of somebody' } });
    expect(project(pod)).toEqual({ key: 'shop/web', uid: 'uid-1', resourceVersion: '7', step: 'add' });
  });

  it('tells a run the step and the resourceVersion that a write is conditional on', () => {
    expect(podLabel.needsWork(project(aPod(annotated('true'))), [])).toEqual({
      needsWork: true,
      reason: 'the annotation asks for the label, which is missing or wrong',
      seen: { step: 'add', resourceVersion: '7' },
    });
  });

  it('starts no run for a Pod that is right', () => {
    expect(podLabel.needsWork(project(aPod()), [])).toEqual({ needsWork: false });
  });

  it('is read as metadata alone, and finished Pods are left out by the server', () => {
    expect(podLabel.primary).toMatchObject({
      metadataOnly: true,
      fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
    });
  });
});
