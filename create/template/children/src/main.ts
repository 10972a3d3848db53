import { operator } from 'durable-operator';
import { websiteController } from './website.ts';

// The whole command line: node src/main.ts --help
await operator({ name: 'my-operator', controllers: [websiteController] }).main();
