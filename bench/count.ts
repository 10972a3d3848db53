import { InvalidArgumentError } from 'commander';

/** A number of things, as an option of a command line. @throws InvalidArgumentError */
export function count(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be a number, from 1.');
  return Number(text);
}
