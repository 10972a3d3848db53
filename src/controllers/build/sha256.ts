/** Lower-case hex. Controllers import nothing of Node, and need it synchronously. Source: FIPS 180-4, section 6.2. */
export function sha256(text: string): string {
  const words = paddedWords(utf8(text));
  let state = INITIAL;
  for (let at = 0; at < words.length; at += 16) state = compressed(state, words.slice(at, at + 16));
  return state.map((word) => word.toString(16).padStart(8, '0')).join('');
}

const PRIMES = firstPrimes(64);
const INITIAL = PRIMES.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)));
const ROUND_CONSTANTS = PRIMES.map((prime) => fractionBits(Math.cbrt(prime)));

function compressed(state: readonly number[], block: readonly number[]): number[] {
  const schedule = scheduleOf(block);
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (const [round, constant] of ROUND_CONSTANTS.entries()) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + constant) | 0;
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0;
    const mixed = (first + (schedule[round] ?? 0)) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + mixed) | 0, c, b, a, (mixed + second) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, index) => (word + (state[index] ?? 0)) >>> 0);
}

function scheduleOf(block: readonly number[]): number[] {
  const schedule = [...block];
  const at = (index: number) => schedule[index] ?? 0;
  for (let i = 16; i < 64; i += 1) {
    const early = rotated(at(i - 15), 7) ^ rotated(at(i - 15), 18) ^ (at(i - 15) >>> 3);
    const late = rotated(at(i - 2), 17) ^ rotated(at(i - 2), 19) ^ (at(i - 2) >>> 10);
    schedule.push((at(i - 16) + early + at(i - 7) + late) | 0);
  }
  return schedule;
}

/** The bytes, a one bit, zeros and the length in bits, as words of 32 bits: a multiple of 16 of them. */
function paddedWords(bytes: readonly number[]): number[] {
  const words = Array.from({ length: (((bytes.length + 8) >> 6) + 1) * 16 }, () => 0);
  for (const [index, byte] of [...bytes, 0x80].entries()) {
    words[index >> 2] = (words[index >> 2] ?? 0) | (byte << (24 - (index & 3) * 8));
  }
  words[words.length - 1] = bytes.length * 8;
  return words;
}

function utf8(text: string): number[] {
  return Array.from(text, (character) => bytesOf(character.codePointAt(0) ?? 0)).flat();
}

function bytesOf(point: number): number[] {
  const tail = (shift: number) => 0x80 | ((point >> shift) & 0x3f);
  if (point < 0x80) return [point];
  if (point < 0x800) return [0xc0 | (point >> 6), tail(0)];
  if (point < 0x10000) return [0xe0 | (point >> 12), tail(6), tail(0)];
  return [0xf0 | (point >> 18), tail(12), tail(6), tail(0)];
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function fractionBits(value: number): number {
  return ((value - Math.floor(value)) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
