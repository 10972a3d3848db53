/** What a program is built into. */
export interface Built {
  /** Of the program. */
  readonly name: string;
  readonly version: string;
  /** Without its tag, which is the version. */
  readonly image: string;
  /** The main module in the project's folder: `src/main.ts`. */
  readonly main: string;
}
