import type { Row } from './rows.ts';

/** What is news, from look to look. */
export class ChangedRows {
  /** By their keys, as they were last. */
  #known = new Map<string, Row>();

  /**
   * Those that are new or have changed, and the last of those that are there no more.
   *
   * @param isComplete whether what is missing is there no more; else it may not have been read
   */
  in(rows: readonly Row[], isComplete: boolean): readonly Row[] {
    const now = new Map(rows.map((row) => [row.key, row]));
    const changed = rows.filter((row) => progressOf(this.#known.get(row.key)) !== progressOf(row));
    const missing = [...this.#known.values()].filter(({ key }) => !now.has(key));
    this.#known = isComplete ? now : new Map([...this.#known, ...now]);
    return isComplete ? [...changed, ...missing.map(lastOf)] : changed;
  }
}

function progressOf(row: Row | undefined): string | undefined {
  return row && `${row.state} ${row.attempt ?? ''}`;
}

/** With `--state`, it may only have another one. */
function lastOf({ key, namespace, resource, controller }: Row): Row {
  return { key, namespace, resource, controller, state: undefined, message: 'no longer listed' };
}
