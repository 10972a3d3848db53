import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Keeps the compiled code of what is loaded from here on: half of the time of an answer is loading. In the person's own
 * folder, since in a shared one somebody else could put code. Source: Node's docs, "Module compile cache".
 */
export function cacheCompiledCode(env: NodeJS.ProcessEnv): void {
  const cache = env['XDG_CACHE_HOME'] ?? '';
  enableCompileCache(join(cache === '' ? join(homedir(), '.cache') : cache, 'durable-operator', 'compiled'));
}
