import { SecretCopy } from './kind.ts';

console.log(JSON.stringify(SecretCopy.manifest));
