#!/usr/bin/env node
import { durableOperator } from './controllers/program.ts';
import { operatorProgram } from './program/operator.ts';

await operatorProgram(durableOperator).main();
