import { operator } from 'durable-operator';
import { secretCopy } from './secret-copy.ts';

await operator({ name: 'secret-copy-operator', controllers: [secretCopy] }).main();
