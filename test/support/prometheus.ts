/** One line of Prometheus' text format. */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What was scraped. */
export interface Scraped {
  /** The names of all metrics, such as `workqueue_depth`, with their types. */
  readonly types: ReadonlyMap<string, string>;
  /** Every series. */
  readonly all: readonly Series[];
  /** All series of that name that have these labels. */
  series(name: string, labels?: Readonly<Record<string, string>>): readonly Series[];
  /** Their sum; undefined where there are none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

/** Reads Prometheus' text format. @throws Error where a line is not of it */
export function readMetrics(text: string): Scraped {
  const lines = text.split('\n').filter((line) => line !== '');
  const types = new Map(
    lines
      .filter((line) => line.startsWith('# TYPE '))
      .map((line) => line.split(' '))
      .map(([, , name = '', type = '']) => [name, type]),
  );
  const all = lines.filter((line) => !line.startsWith('#')).map(seriesOf);
  const series: Scraped['series'] = (name, labels = {}) =>
    all.filter(
      (one) =>
        one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value),
    );
  return {
    types,
    all,
    series,
    value: (name, labels) => {
      const found = series(name, labels);
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

function seriesOf(line: string): Series {
  const [, name, labels = '', value] = LINE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a line of Prometheus: ${line}`);
  return { name, labels: labelsIn(labels), value: Number(value) };
}

function labelsIn(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(LABEL)].map(([, name = '', value = '']) => [name, value]));
}
