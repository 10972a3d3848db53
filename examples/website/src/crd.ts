import { Website } from './website.ts';

console.log(JSON.stringify(Website.manifest));
