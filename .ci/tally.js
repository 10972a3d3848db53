// Prints how many tests have passed and failed.
import process from 'node:process';
import { results } from './results.js';

const sum = (of) => results().reduce((all, each) => all + each[of], 0);
process.stdout.write(`tests: ${sum('passed')} passed, ${sum('failed')} failed\n`);
