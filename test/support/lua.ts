import { lauxlib, lua, lualib, to_luastring } from 'fengari';

/** The text that a chunk of Lua returns. @throws Error with the words of Lua where it fails */
export function textFromLua(chunk: string): string {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const outcome = lauxlib.luaL_loadstring(state, to_luastring(chunk)) || lua.lua_pcall(state, 0, 1, 0);
  const text = lua.lua_tojsstring(state, -1);
  if (outcome !== 0) throw new Error(text);
  return text;
}

/** A value in Lua's own words: null is nil, and lists and objects are tables. */
export function luaLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value !== 'object') return JSON.stringify(value);
  const fields = Array.isArray(value)
    ? value.map(luaLiteral)
    : Object.entries(value).map(([key, field]) => `[${JSON.stringify(key)}] = ${luaLiteral(field)}`);
  return `{ ${fields.join(', ')} }`;
}
