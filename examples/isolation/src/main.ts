import { operator } from 'durable-operator';
import { isolation } from './isolation.ts';

await operator({ name: 'isolation-operator', controllers: [isolation] }).main();
