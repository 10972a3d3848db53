import { extname, join } from 'node:path';

const { dirname, filename } = import.meta;

/** How the modules of this folder end: `.ts` in a checkout, `.js` in the npm package. */
export const EXTENSION = extname(filename);

/** The project's folder, seen from local/ as from dist/local/. */
export const ROOT = join(dirname, EXTENSION === '.ts' ? '..' : '../..');
