#!/usr/bin/env node
/** `kubectl_complete-durable`: kubectl asks it to complete `kubectl durable`. Source: kubectl, pkg/cmd/plugin_completion.go. */
import { durableOperator } from '../controllers/index.ts';
import { completeHere } from './process.ts';

await completeHere(durableOperator, process.argv.slice(2));
