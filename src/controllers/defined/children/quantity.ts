const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?$/;
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** The API server keeps billionths. */
const NANO = 9;

/**
 * The same text for the same quantity: `1000m` and `1`, `1024Mi` and `1Gi`. Anything else stays as it is.
 * Source: apimachinery, pkg/api/resource, `Quantity`.
 */
export function canonicalQuantity(text: string): string {
  const [, sign = '', whole = '', fraction = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (whole + fraction === '') return text;
  const [factor, exponent] = scaleOf(suffix);
  const power = exponent + NANO - fraction.length;
  const digits = BigInt(whole + fraction) * factor;
  const scaled = power >= 0 ? digits * 10n ** BigInt(power) : digits / 10n ** BigInt(-power);
  return `${sign === '-' ? '-' : ''}${scaled}n`;
}

function scaleOf(suffix: string): readonly [factor: bigint, exponent: number] {
  if (/^[eE]./.test(suffix)) return [1n, Number(suffix.slice(1))];
  if (suffix.endsWith('i')) return [1024n ** BigInt(BINARY.indexOf(suffix)), 0];
  return [1n, (DECIMAL.indexOf(suffix) - DECIMAL.indexOf('')) * 3];
}
