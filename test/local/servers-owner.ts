/** Starts a program in a stack's folder, prints its process ID, and waits: `node servers-owner.ts <folder>`. */
import { Servers } from '../../local/servers.ts';
import { claimFolder, layoutOf, pidsIn } from '../../local/stack-folder.ts';

const layout = layoutOf(process.argv[2] ?? '');
await claimFolder(layout);
new Servers(layout).start({ name: 'one', command: '/bin/sleep', args: ['600'] });
process.stdout.write(`${(await pidsIn(layout))['one'] ?? ''}\n`);
setInterval(() => undefined, 1_000);
