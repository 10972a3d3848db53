#!/usr/bin/env node
import { durableOperator } from '../durable-operator.ts';
import { answerHere } from './process.ts';

process.exitCode = await answerHere(durableOperator, process.argv.slice(2));
