#!/usr/bin/env node
import { cacheCompiledCode } from './compile-cache.ts';
import { startRunsThread } from './start-runs-thread.ts';

cacheCompiledCode(process.env);
const args = process.argv.slice(2);
// `get` waits for it longest, so it loads beside everything else.
const runsThread = args[0] === 'get' ? startRunsThread() : undefined;
const { answerHere } = await import('./process.ts');
process.exitCode = await answerHere(args, runsThread);
