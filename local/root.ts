import { extname, join } from 'node:path';

const { dirname, filename } = import.meta;

/** The project's folder: seen from local/ in a checkout, and from dist/local/ in the npm package. */
export const ROOT = join(dirname, extname(filename) === '.ts' ? '..' : '../..');
