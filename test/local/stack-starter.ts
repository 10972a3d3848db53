/** Starts a stack and waits to be killed: `node stack-starter.ts <folder>`. Prints a line when it is ready. */
import { buildServers } from '../../local/build.ts';
import { startStack } from '../../local/stack.ts';

const stack = await startStack({ dir: process.argv[2] ?? '', binaries: await buildServers() });
process.stdout.write(`ready ${stack.temporalAddress}\n`);
