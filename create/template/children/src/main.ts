import { operator } from 'durable-operator';
import { website } from './website.ts';

// The whole command line: node src/main.ts --help
await operator({ name: 'my-operator', controllers: [website] }).main();
