#!/usr/bin/env node
import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode(process.env);
const { answerHere } = await import('./process.ts');
process.exitCode = await answerHere(process.argv.slice(2));
