import { describe, expect, it } from '@jest/globals';
import packageJson from '../../package.json' with { type: 'json' };
import { parsed } from '../support/configs.ts';

describe('help', () => {
  async function printed(...args: string[]): Promise<string> {
    const result = await parsed({ args });
    expect(result).toMatchObject({ kind: 'exit', code: 0, to: 'stdout' });
    return result.kind === 'exit' ? result.output : '';
  }

  it('lists the commands, and the options under titles with their defaults', async () => {
    const help = await printed('--help');
    expect(help).toMatch(/^Cluster:\n +--kubeconfig <file>/m);
    expect(help).toMatch(/^Controller namespace-role-binding:\n +--namespace-selector/m);
    expect(help).toMatch(/^Commands:\n +run /m);
    expect(help.replaceAll(/\s+/g, ' ')).toContain(
      're-evaluate every known resource this often (default: 3m)',
    );
    expect(help).not.toContain('--no-');
  });

  it('of a command shows its own options and those of all', async () => {
    const help = await printed('dev', '--help');
    expect(help).toMatch(/^Local stack:\n +--dir <directory>/m);
    expect(help).toMatch(/^Operation:\n +--health-addr/m);
  });

  it('--version prints the version of package.json', async () => {
    expect(await printed('--version')).toBe(`${packageJson.version}\n`);
  });
});
