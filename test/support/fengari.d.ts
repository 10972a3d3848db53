/** As far as test/support/lua.ts needs it: the package has no types. */
declare module 'fengari' {
  interface State {
    readonly stack: unknown;
  }

  export function to_luastring(text: string): Uint8Array;

  export const lauxlib: {
    luaL_newstate(): State;
    /** @returns 0, or where the chunk cannot be compiled an error code, with the error on the stack */
    luaL_loadstring(state: State, chunk: Uint8Array): number;
  };

  export const lualib: { luaL_openlibs(state: State): void };

  export const lua: {
    /** @returns 0, or an error code, with the error on the stack */
    lua_pcall(state: State, argumentCount: number, resultCount: number, handler: number): number;
    lua_tojsstring(state: State, index: number): string;
  };
}
