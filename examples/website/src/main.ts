import { operator } from 'durable-operator';
import { website } from './website.ts';

await operator({ name: 'website-operator', controllers: [website] }).main();
