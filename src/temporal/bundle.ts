import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { bundleWorkflowCode, DefaultLogger, type WorkerOptions } from '@temporalio/worker';
import { ENCODED_FAILURES } from './data-converter.ts';

export type WorkflowBundle = NonNullable<WorkerOptions['workflowBundle']>;

const here = dirname(fileURLToPath(import.meta.url));
/** In `dist/`, this file and the workflows are JavaScript. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const workflowsPath = join(here, `../../workflows/index.${extension}`);

/** Workflows write the text of their failures as it is, or into a payload that is encrypted. */
export type FailureText = 'readable' | 'in-payload';
const FAILURE_TEXTS: readonly FailureText[] = ['readable', 'in-payload'];

const builtBundleOf: Readonly<Record<FailureText, string>> = {
  readable: join(here, '../../workflow-bundle.js'),
  'in-payload': join(here, '../../workflow-bundle-encrypting.js'),
};

/** The workflows for the worker: the bundle of the build, or, in a source tree, a new one. */
export async function workflowBundle(failures: FailureText = 'readable'): Promise<WorkflowBundle> {
  const codePath = builtBundleOf[failures];
  if (extension === 'js' && existsSync(codePath)) return { codePath };
  return makeWorkflowBundle(failures);
}

/** Takes seconds and memory, so the build does it beforehand. */
export async function makeWorkflowBundle(failures: FailureText = 'readable'): Promise<{ code: string }> {
  // Webpack is talkative at every other level.
  return bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger('WARN'),
    preloadModules: ['@temporalio/workflow'],
    ...(failures === 'in-payload' && { failureConverterPath: ENCODED_FAILURES }),
  });
}

const MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

/** For the memory of a worker: a text with one character beyond Latin-1 takes two bytes for each, and nobody reads the sources in a map. */
export function lean(bundle: string): string {
  const at = bundle.lastIndexOf(MAP);
  const json = Buffer.from(bundle.slice(at + MAP.length), 'base64').toString();
  const map = z.record(z.string(), z.unknown()).parse(JSON.parse(json));
  const code = bundle
    .slice(0, at)
    .replaceAll(/[^\0-\xff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return code + MAP + Buffer.from(JSON.stringify({ ...map, sourcesContent: undefined })).toString('base64');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const failures of FAILURE_TEXTS) {
    const path = builtBundleOf[failures];
    await mkdir(dirname(path), { recursive: true });
    const { code } = await makeWorkflowBundle(failures);
    await writeFile(path, lean(code));
  }
}
