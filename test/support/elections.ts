import { LEASES, type Lease, type LeaseSpec } from '../../src/watcher/lease.ts';
import { ROLE_BINDINGS, type At, type TestCluster } from './cluster.ts';
import { installed } from './delivered.ts';
import { eventually } from './eventually.ts';
import type { LogEntry, Operator } from './operator.ts';

const ROLES = { ...ROLE_BINDINGS, plural: 'roles' };
const ACCESS = [
  { type: ROLES, name: 'durable-operator-leader-election-role' },
  { type: ROLE_BINDINGS, name: 'durable-operator-leader-election-rolebinding' },
];

/** The election in one namespace, as a person with all rights sees it. */
export class TestElection {
  readonly #cluster: TestCluster;
  readonly #namespace: string;
  readonly #lease: At;

  constructor(cluster: TestCluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#lease = { type: LEASES, namespace, name: 'durable-operator' };
  }

  get args(): readonly string[] {
    return ['--enable-leader-election', '--leader-election-namespace', this.#namespace];
  }

  /** What the Lease says; nothing where there is none. */
  async spec(): Promise<LeaseSpec> {
    return (await this.#cluster.get<Lease>(this.#lease))?.spec ?? {};
  }

  /** Which of them holds the Lease, once one does that says so, too. */
  leaderOf(operators: readonly Operator[], withinMs: number): Promise<Operator> {
    return eventually(async () => {
      const { holderIdentity } = await this.spec();
      return operators.find(({ logs }) =>
        logs.some(({ identity, msg }) => identity === holderIdentity && hasBegunToLead(msg)),
      );
    }, withinMs);
  }

  /** Lets the operators hold the Lease in this namespace, as the chart does in the release's. */
  async allow(): Promise<void> {
    const delivered = await installed();
    for (const { type, name } of ACCESS) {
      const object = delivered.find(({ metadata }) => metadata.name === name);
      if (object === undefined) throw new Error(`the chart has no ${name}`);
      await this.#cluster.create(type, { ...object, metadata: { name, namespace: this.#namespace } });
    }
  }
}

function hasBegunToLead(message: LogEntry[string]): boolean {
  return typeof message === 'string' && message.startsWith('became leader: ');
}

/** What it has said since it began to say so. */
export function saidSince({ logs }: Operator, first: string): readonly string[] {
  const messages = logs.map(({ msg }) => String(msg));
  const from = messages.findIndex((message) => message.startsWith(first));
  return from < 0 ? [] : messages.slice(from);
}
