import { NodeMaintenance } from './kind.ts';

console.log(JSON.stringify(NodeMaintenance.manifest));
