/** The smallest of the values that `share` (0 to 1) of them do not exceed: the nearest rank. Of no values, NaN. */
export function percentile(values: readonly number[], share: number): number {
  const ascending = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * ascending.length));
  return ascending[rank - 1] ?? Number.NaN;
}
