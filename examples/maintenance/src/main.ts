import { operator } from 'durable-operator';
import { maintenance } from './maintenance.ts';

await operator({ name: 'maintenance-operator', controllers: [maintenance] }).main();
