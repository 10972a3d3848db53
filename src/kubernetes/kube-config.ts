import { registerHooks } from 'node:module';
import { extname } from 'node:path';
import type * as ClientNode from '@kubernetes/client-node';

/** Instead of `gen/index.js`, which loads a thousand generated files of API models: docs/adr/0019. */
const PARTS = new URL(`./generated-parts${extname(import.meta.filename)}`, import.meta.url).href;

const hooks = registerHooks({
  resolve(specifier, context, nextResolve) {
    const isOfConfig = context.parentURL?.endsWith('/client-node/dist/config.js') === true;
    if (isOfConfig && specifier === './gen/index.js') return { url: PARTS, shortCircuit: true };
    return nextResolve(specifier, context);
  },
});
const configModule: Pick<typeof ClientNode, 'KubeConfig'> =
  await import('@kubernetes/client-node/dist/config.js');
hooks.deregister();

export const { KubeConfig } = configModule;
export type KubeConfig = ClientNode.KubeConfig;
