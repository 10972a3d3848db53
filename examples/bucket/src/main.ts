import { operator } from 'durable-operator';
import { bucket } from './bucket.ts';

await operator({ name: 'bucket-operator', controllers: [bucket] }).main();
