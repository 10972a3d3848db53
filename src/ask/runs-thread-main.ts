import { cacheCompiledCode } from './compile-cache.ts';

/** The thread that RunsThread starts. */
cacheCompiledCode(process.env);
const { answerOpenRuns } = await import('./runs-thread-answers.ts');
answerOpenRuns();
