import { operator } from 'durable-operator';
import { migration } from './migration.ts';

await operator({ name: 'migration-operator', controllers: [migration] }).main();
