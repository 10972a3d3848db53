import { Bucket } from './kind.ts';

console.log(JSON.stringify(Bucket.manifest));
