/** `<prefix>-1`, `<prefix>-2`, … */
export function namesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
}
