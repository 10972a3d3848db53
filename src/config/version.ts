import packageJson from '../../package.json' with { type: 'json' };

/** The program's version, as package.json has it. */
export const VERSION = packageJson.version;
