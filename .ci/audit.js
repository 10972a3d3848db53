// Asks the package registry for known vulnerabilities of what the image ships, and fails on high and critical ones.
// A registry that cannot be asked (a mirror, no network) is no failure, but is said: then nothing was checked.
import { spawnSync } from 'node:child_process';
import console from 'node:console';
import process from 'node:process';

const audit = ['audit', '--omit=dev', '--audit-level=high'];
const { status, stdout } = spawnSync('npm', [...audit, '--json'], { encoding: 'utf8' });
const answer = JSON.parse(stdout || '{}');

if (answer.auditReportVersion === undefined) {
  console.log(`audit: NOT CHECKED, the registry has no answer: ${answer.message ?? 'npm said nothing'}`);
} else {
  const counts = Object.entries(answer.metadata.vulnerabilities).map(([level, count]) => `${count} ${level}`);
  console.log(`audit: vulnerabilities in production dependencies: ${counts.join(', ')}`);
  if (status !== 0) console.error(`audit: run "npm ${audit.join(' ')}" to see them`);
  process.exitCode = status ?? 1;
}
