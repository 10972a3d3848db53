import { operator } from 'durable-operator';
import { database } from './database.ts';

await operator({ name: 'database-operator', controllers: [database] }).main();
