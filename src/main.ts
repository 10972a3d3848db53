#!/usr/bin/env node
import { durableOperator } from './durable-operator.ts';
import { operatorProgram } from './program/operator.ts';

await operatorProgram(durableOperator).main();
