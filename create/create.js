#!/usr/bin/env node
import process from 'node:process';

// npm create durable-operator NAME is: durable-operator new NAME
process.argv.splice(2, 0, 'new');
const manifest = import.meta.resolve('durable-operator/package.json');
await import(manifest.replace('package.json', 'dist/src/main.js'));
