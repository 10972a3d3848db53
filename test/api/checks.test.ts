import { describe, expect, it } from '@jest/globals';
import {
  defineController,
  defineKind,
  DEPLOYMENTS,
  operator,
  PODS,
  type AnyDefinition,
} from 'durable-operator';
import { z } from 'zod';
import { nextOf } from '../../src/engine/definition.ts';
import { Bucket, bucketIn } from '../support/bucket.ts';

const asked = () => Promise.reject(new Error('a definition asks no store'));
const bucket = bucketIn({ find: asked, create: asked, setVersioning: asked, remove: asked });
const step = { summary: 'do it', run: () => Promise.resolve('did it') };
/** As an object literal has it where `__proto__` is written out. */
const withPrototype = JSON.parse('{}') as object;
Object.setPrototypeOf(withPrototype, step);
const options = (name: string) => ({ options: z.object({ [name]: z.string().default('') }) });
const steps = (name: string, more = {}) => ({ steps: { [name]: { ...step, ...more } } });
const lookups = (name: string) => ({ lookups: { [name]: { read: () => Promise.resolve('it') } } });
const LONG = 'a'.repeat(300);
const KEBAB = 'must be lower-case words joined by "-"';
const STEP =
  'must be letters, digits, "-" and "_", with a letter first, such as "createBucket", of at most 63 characters';
const OPTION = 'must be in camelCase, neither "help", "version" nor "config"';

describe('a controller that cannot work is refused where it is written, with what is allowed', () => {
  it.each<readonly [string, object, string]>([
    ['name', { name: 'Bucket' }, `controller Bucket: the name "Bucket" ${KEBAB}`],
    ['name', { name: 'a'.repeat(80) }, 'such as "image-scan", of at most 63 characters'],
    [
      'finalizer',
      { finalizer: 'bucket' },
      'the finalizer "bucket" must be a domain in lower case, "/" and a name',
    ],
    ['finalizer', { finalizer: `example.com/${'a'.repeat(64)}` }, 'a name of at most 63 letters'],
    ['pollInterval', { pollInterval: 'often' }, 'pollInterval is "often", but must be a duration'],
    ['pollInterval', { pollInterval: '1s' }, 'must be a duration from 10s to 24d, such as "10m"'],
    ['owned type', { owns: [PODS] }, 'owns of Pod needs a view'],
    ['step', steps('make it'), `the step "make it" ${STEP}`],
    ['step', steps(LONG), `the step "${LONG.slice(0, 80)}" ${STEP}`],
    ['step', steps('__proto__'), `the step "__proto__" ${STEP}`],
    ['step', { steps: withPrototype }, `the step "__proto__" ${STEP}`],
    [
      'timeout',
      steps('act', { timeout: '2h' }),
      'the timeout of step act is "2h", but must be a duration from 10s to 1h',
    ],
    [
      'retry',
      steps('act', { retry: { longest: 'soon' } }),
      'the longest retry of step act is "soon", but must be',
    ],
    [
      'lookup',
      lookups('node'),
      'the lookup "node" must be in camelCase, and not "node", which the library has',
    ],
    ['lookup', lookups('node m'), 'the lookup "node m" must be in camelCase'],
    [
      'forgets',
      { ...lookups('jobs'), ...steps('act', { forgets: ['jobs', 'node', 'pods'] }) },
      'the step "act" forgets "pods", which is none of its lookups node, jobs',
    ],
    ['observeInPlan', { observe: undefined, observeInPlan: true }, 'observeInPlan needs observe or lookups'],
    ['option', options('help'), `the option "help" ${OPTION}`],
    ['option', options('config'), `the option "config" ${OPTION}`],
    ['option', options('noCache'), 'and without "no" before a name'],
    ['option', options('x y'), `controller bucket: the option "x y" ${OPTION}`],
  ])('%s %p', (_, wrong, words) => {
    expect(() => defineController({ ...bucket, ...wrong })).toThrow(words);
  });

  it.each(['observe', 'default', 'addFinalizer', 'removeFinalizer', 'updateStatus', 'updateState'])(
    'a step with the name of an activity of the library: %s',
    (name) => {
      expect(() => defineController({ ...bucket, ...steps(name) } as unknown as typeof bucket)).toThrow(
        `the step "${name}" must have another name, since the library uses observe, default, `,
      );
    },
  );

  it('a step with the name of an activity for a declared kind', () => {
    const declaring = (name: string) => () =>
      defineController({
        ...{ name: 'bucket', for: Bucket, owns: [DEPLOYMENTS], children: () => [] },
        ...steps(name),
      });
    for (const verb of ['create', 'apply', 'delete'])
      expect(declaring(`${verb}Deployment`)).toThrow(`the step "${verb}Deployment" must have another name`);
    expect(declaring('createService')).not.toThrow();
  });
});

describe('a kind that cannot work is refused where it is written, with what is allowed', () => {
  const website = {
    group: 'example.com',
    version: 'v1',
    kind: 'Website',
    description: 'x',
    spec: z.object({}),
  };

  it.each<readonly [object, string]>([
    [{ group: 'K8S io' }, 'kind Website: the group "K8S io" must be a domain in lower case with a dot in it'],
    [{ group: 'example' }, 'such as "example.com", of at most 189 characters'],
    [{ group: 'apps.k8s.io' }, 'and none of k8s.io and kubernetes.io'],
    [{ version: '1' }, 'the version "1" must be lower-case letters, digits and "-", with a letter first'],
    [{ kind: 'thing' }, 'kind thing: the kind "thing" must be in CamelCase, and not end in "List"'],
    [{ kind: 'ThingList' }, 'the kind "ThingList" must be in CamelCase, and not end in "List"'],
    [{ kind: `T${'a'.repeat(59)}` }, 'of at most 59 characters'],
    [{ plural: 'Websites' }, 'the plural "Websites" must be lower-case letters'],
    [{ shortNames: ['web', 'w b'] }, 'the short name "w b" must be'],
    [{ categories: ['All'] }, 'the category "All" must be'],
  ])('%p', (wrong, words) => {
    expect(() => defineKind({ ...website, ...wrong })).toThrow(words);
  });

  it.each(['conditions', 'observedGeneration', 'lastHandledReconcileAt', 'lastHandledApproval'])(
    'with status.%s, which the library would overwrite',
    (field) => {
      const status = z.object({ url: z.string().optional(), [field]: z.string().optional() });
      expect(() => defineKind({ ...website, status })).toThrow(
        `kind Website: status.${field} must have another name, since the library writes observedGeneration, conditions, `,
      );
    },
  );
});

describe('an operator that cannot work is refused where it is written, with what is allowed', () => {
  const controllers = [bucket] as readonly AnyDefinition[];

  it.each<readonly [object, string]>([
    [
      { name: 'My Op' },
      `operator My Op: the name "My Op" ${KEBAB}, such as "bucket-operator", of at most 52`,
    ],
    [{ controllers: [] }, 'operator bucket-operator: it must have at least one controller'],
    [{ controllers: [bucket, bucket] }, 'two controllers are named bucket; each must have a name of its own'],
  ])('%p', (wrong, words) => {
    expect(() => operator({ name: 'bucket-operator', controllers, ...wrong })).toThrow(words);
  });
});

describe('the reason of a cause is what the API server takes, wherever it is given', () => {
  const next = nextOf(bucket);
  const cause = (reason: string) => ({ reason, message: 'the store is full', advice: [] });

  it.each(['no-quota', 'No Quota', '', '1', 'A:', 'a'.repeat(1025)])('not %p', (reason) => {
    const words = `controller bucket: the reason ${JSON.stringify(reason.slice(0, 80))} must be in CamelCase`;
    expect(() => next.stalled(cause(reason))).toThrow(words);
    expect(() => next.wait('the store', { recheckAfter: '1m', cause: cause(reason) })).toThrow(words);
    expect(() => next.converged('it is there', { notReady: cause(reason) })).toThrow(words);
  });

  it.each(['NoQuota', 'A', 'a_b', 'Sha256_1'])('but %p', (reason) => {
    expect(next.stalled(cause(reason))).toEqual({ is: 'stalled', cause: cause(reason) });
  });
});
