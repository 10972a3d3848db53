import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { buildPrograms } from '../../local/build.ts';
import type { KubernetesObject } from '../../src/api/object.ts';

const Verdicts = z.array(z.object({ status: z.string(), message: z.string() }));

/** What kstatus makes of each object: its own library, which the first call builds. */
export async function kstatusOf(objects: readonly KubernetesObject[]): Promise<z.infer<typeof Verdicts>> {
  const { kstatus } = await buildPrograms(['kstatus'], {});
  const program = spawn(kstatus, { stdio: 'pipe' });
  const ended = once(program, 'close');
  program.stdin.end(JSON.stringify(objects));
  const [output, complaints] = await Promise.all([text(program.stdout), text(program.stderr), ended]);
  if (program.exitCode !== 0) throw new Error(`kstatus: ${complaints}`);
  return Verdicts.parse(JSON.parse(output));
}
