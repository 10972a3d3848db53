/** RFC 3339 with six digits after the second, as `metav1.MicroTime` is written; the server refuses fewer. */
export function microTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('Z', '000Z');
}
