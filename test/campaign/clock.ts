import { readFileSync } from 'node:fs';

/*
 * Loaded into an operator before its own code (`node --import`): its wall clock is off by as many milliseconds as a file
 * says, which is read again at SIGUSR2. Timers and `performance.now()` go on as ever, as they do when an administrator sets
 * the clock of a machine.
 */

const file = process.env['CAMPAIGN_CLOCK'] ?? '';
const RealDate = Date;
let offMs = read();

function read(): number {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}

class ShiftedDate extends RealDate {
  constructor(...given: [] | [number | string | Date]) {
    if (given.length === 0) super(RealDate.now() + offMs);
    else super(...given);
  }

  static override now(): number {
    return RealDate.now() + offMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
process.on('SIGUSR2', () => {
  offMs = read();
});
