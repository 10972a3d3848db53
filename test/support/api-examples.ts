import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as api from '../../src/index.ts';

const PAGE = join(import.meta.dirname, '../../docs/api.md');

/** What the examples leave out. */
const CONTEXT = `
import { z } from 'zod';
import type { ControllerDefinition, Kube, KubernetesObject, Logger, Manifest, NewObject, NextOf } from 'durable-operator';

declare const kube: Kube, log: Logger, app: ReturnType<typeof operator>, progress: (did: string) => void;
declare const resource: KubernetesObject & { readonly spec: { readonly config: object; readonly deadline: string } };
declare const next: NextOf<{ take: undefined }, { address: string | undefined }>;
declare const namespace: string, name: string, uid: string, url: string, nowMs: number, startedMs: number;
declare const pod: KubernetesObject, pods: readonly KubernetesObject[], spec: object, job: NewObject;
declare const status: { readonly address?: string }, free: readonly string[];
declare const store: {
  find(uid: string, signal: AbortSignal): Promise<object | undefined>;
  create(uid: string, how: { readonly idempotencyKey: string; readonly signal: AbortSignal }): Promise<void>;
  remove(uid: string, signal: AbortSignal): Promise<void>;
};
const Bucket = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Bucket', description: 'A bucket.' },
  spec: z.object({ secretName: z.string(), namespaceLabels: z.record(z.string(), z.string()) }),
});
const bucket = defineController({ name: 'bucket', for: Bucket });
type Members = Partial<ControllerDefinition<typeof Bucket, undefined, unknown, undefined, unknown>>;
`;

/** A module with the examples of docs/api.md, each in a function of its own. */
export async function apiExamples(): Promise<string> {
  const page = await readFile(PAGE, 'utf8');
  const examples = [...page.matchAll(/^#+ Example\n\n```ts\n(.*?)^```/gms)].map(([, code = '']) => code);
  const functions = examples.map(
    (code, place) =>
      `export async function example${place}() {\n${isMember(code) ? member(code) : `{\n${code}}`}\n}\n`,
  );
  return [`import { ${Object.keys(api).join(', ')} } from 'durable-operator';`, CONTEXT, ...functions].join(
    '\n',
  );
}

/** `refusal: (error) => …` */
function isMember(code: string): boolean {
  return /^\w+: /.test(code);
}

/** As prettier has it on the page, it ends like a statement. */
function member(code: string): string {
  return `const its: Members = {\n${code.replace(/;\s*$/, '')}\n};\nreturn its;`;
}
