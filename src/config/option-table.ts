import { rowsOf, type OptionRow } from './option.ts';
import { schemaFor, type ProgramNames } from './options.ts';

/** The options of a program. */
export interface OptionTable {
  /** Its name. */
  readonly program: string;
  readonly schema: ReturnType<typeof schemaFor>;
  readonly rows: readonly OptionRow[];
}

export function optionTable(program: ProgramNames): OptionTable {
  const schema = schemaFor(program);
  const titles = program.controllers.map(({ name }) => `Controller ${name}`);
  // The options of controllers that the program does not have keep their defaults.
  const rows = rowsOf(schema).filter(
    ({ title }) => !title.startsWith('Controller ') || titles.includes(title),
  );
  return { program: program.name, schema, rows };
}
