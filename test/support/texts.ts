/**
 * Every text in a message of Temporal, at every depth, a line each: keys, strings, and bytes as the text that they
 * are. JSON will not do: protobufjs writes bytes in base64, and what is sought in them is not found.
 */
export function textsIn(message: unknown): string {
  return [...everyText(message)].join('\n');
}

function* everyText(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (value instanceof Uint8Array) yield Buffer.from(value).toString('utf8');
  else if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      yield key;
      yield* everyText(child);
    }
  }
}
