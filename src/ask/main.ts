#!/usr/bin/env node
import { answerHere } from './process.ts';

process.exitCode = await answerHere(process.argv.slice(2));
