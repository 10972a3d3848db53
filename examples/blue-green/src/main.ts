import { operator } from 'durable-operator';
import { rollout } from './rollout.ts';

await operator({ name: 'blue-green-operator', controllers: [rollout] }).main();
