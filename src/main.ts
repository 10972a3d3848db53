#!/usr/bin/env node
import { durableOperator } from './controllers/index.ts';
import { operator } from './index.ts';

await operator(durableOperator).main();
