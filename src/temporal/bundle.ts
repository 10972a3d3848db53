import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkerOptions } from '@temporalio/worker';

export type WorkflowBundle = NonNullable<WorkerOptions['workflowBundle']>;

const here = dirname(fileURLToPath(import.meta.url));
/** In `dist/` this file is JavaScript, and so are the workflows beside it. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const workflowsPath = join(here, `../../workflows/index.${extension}`);
const builtBundlePath = join(here, '../../workflow-bundle.js');

/** The workflows as the worker loads them: what the build has made, or, in a source tree, made now. */
export async function workflowBundle(): Promise<WorkflowBundle> {
  if (extension === 'js' && existsSync(builtBundlePath)) return { codePath: builtBundlePath };
  return makeWorkflowBundle();
}

/** Bundling takes seconds and memory, so a build does it beforehand. */
export async function makeWorkflowBundle(): Promise<{ code: string }> {
  // Webpack is talkative at every other level.
  return bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger('WARN'),
    preloadModules: ['@temporalio/workflow'],
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await mkdir(dirname(builtBundlePath), { recursive: true });
  const { code } = await makeWorkflowBundle();
  await writeFile(builtBundlePath, code);
}
