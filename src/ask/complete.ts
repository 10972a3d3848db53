#!/usr/bin/env node
/** `kubectl_complete-durable`: kubectl asks it to complete `kubectl durable`. Source: kubectl, pkg/cmd/plugin_completion.go. */
import { durableOperator } from '../durable-operator.ts';
import { answerHere } from './process.ts';

process.exitCode = await answerHere(durableOperator, [
  'completion',
  'complete',
  '--',
  ...process.argv.slice(2),
]);
