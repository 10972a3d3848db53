import { Migration } from './kind.ts';

console.log(JSON.stringify(Migration.manifest));
