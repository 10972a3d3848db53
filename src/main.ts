#!/usr/bin/env node
import { durableOperator } from './durable-operator.ts';
import { operator } from './program/operator.ts';

await operator(durableOperator).main();
