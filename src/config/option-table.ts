import { ConfigurationError } from './configuration-error.ts';
import { optionRows, type OptionRow } from './option.ts';
import { schemaFor, type ProgramNames } from './options.ts';

/** The options of a program. */
export interface OptionTable {
  /** Its name. */
  readonly program: string;
  readonly schema: ReturnType<typeof schemaFor>;
  readonly rows: readonly OptionRow[];
}

/** @throws ConfigurationError where a controller has an option that cannot be one */
export function optionTable(program: ProgramNames): OptionTable {
  const schema = schemaFor(program);
  const rows = optionRows(schema);
  const names = rows.map(({ name }) => name);
  const taken = names.find((name, index) => names.indexOf(name) !== index);
  if (taken !== undefined)
    throw new ConfigurationError(`there are two options --${taken}; rename that of a controller`);
  return { program: program.name, schema, rows };
}
