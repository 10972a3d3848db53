#!/usr/bin/env node
import { durableOperator } from '../controllers/index.ts';
import { answerHere } from './process.ts';

process.exitCode = await answerHere(durableOperator, process.argv.slice(2));
