import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

type Labels<L extends string> = Readonly<Record<L, string>>;

interface Definition<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

interface CountedDefinition<L extends string> extends Definition<L> {
  /** The series that exist from the start, with 0: an alert on what has never happened needs them. */
  readonly initially?: readonly Labels<L>[];
}

interface HistogramDefinition<L extends string> extends CountedDefinition<L> {
  /** Upper bounds, in seconds. */
  readonly buckets: number[];
}

interface GaugeDefinition<L extends string> extends Definition<L> {
  /** Called at each scrape, and at no other time. A series that it leaves out is gone. */
  readonly measure: () => readonly Measurement<L>[];
}

export type Measurement<L extends string> = readonly [labels: Labels<L>, value: number];

export function counter<L extends string>(
  registry: Registry,
  { initially = [], ...definition }: CountedDefinition<L>,
): Counter<L> {
  const made = new Counter<L>({ registers: [registry], ...definition });
  for (const labels of initially) made.inc(labels, 0);
  return made;
}

export function histogram<L extends string>(
  registry: Registry,
  { initially = [], ...definition }: HistogramDefinition<L>,
): Histogram<L> {
  const made = new Histogram<L>({ registers: [registry], ...definition });
  for (const labels of initially) made.zero(labels);
  return made;
}

export function gauge<L extends string>(
  registry: Registry,
  { measure, ...definition }: GaugeDefinition<L>,
): void {
  new Gauge<L>({
    registers: [registry],
    ...definition,
    collect() {
      this.reset();
      for (const [labels, value] of measure()) this.set(labels, value);
    },
  });
}
