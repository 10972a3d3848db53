import { isQuiet, type PossibleStep } from './step.ts';
import { copyOf, sort, type WorldState } from './state.ts';
import { renumbered } from './values.ts';

/** Something that may happen in a state. It is made once: then the state after it is known by its number. */
export class Edge {
  readonly what: string;
  readonly step: string | undefined;
  readonly fault: string | undefined;
  #to: number | (() => Promise<number>);

  constructor({ what, step, fault }: PossibleStep, make: () => Promise<number>) {
    this.what = what;
    this.step = step;
    this.fault = fault;
    this.#to = make;
  }

  /** @throws Violation */
  async to(): Promise<number> {
    if (typeof this.#to === 'function') this.#to = await this.#to();
    return this.#to;
  }
}

/** The edges by what they are called; those that are asked for are found once. */
type Edges = Map<string, readonly Edge[]>;

interface Node {
  /** The same for states that differ only in numbers that the server gave, or in the order of their objects. */
  readonly text: string;
  /** Until it is looked at: it need not be read from its text. */
  state: WorldState | undefined;
  readonly edges: Edges;
}

/**
 * The states that were come to, and what may happen in each, whatever else may still disturb there: explorations that differ
 * only in that find it once.
 */
export class Graph {
  readonly #numbers = new Map<string, number>();
  readonly #nodes: Node[] = [];
  /** The one that was looked at last. */
  #last: { readonly number: number; readonly state: WorldState } | undefined;

  numberOf(state: WorldState): number {
    sort(state);
    const given = JSON.stringify(state);
    const text = renumbered(given);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const node = { text, state: text === given ? state : undefined, edges: new Map() };
    const number = this.#nodes.push(node) - 1;
    this.#numbers.set(text, number);
    return number;
  }

  /** Not to be changed. */
  stateOf(number: number): WorldState {
    if (this.#last?.number === number) return this.#last.state;
    const node = this.#nodeOf(number);
    const state = node.state ?? (JSON.parse(node.text) as WorldState);
    node.state = undefined;
    this.#last = { number, state };
    return state;
  }

  /** @param find is asked once for each name, and changes nothing */
  async edges(
    number: number,
    name: string,
    find: (state: WorldState) => Promise<readonly PossibleStep[]>,
  ): Promise<readonly Edge[]> {
    const { edges } = this.#nodeOf(number);
    const known = edges.get(name);
    if (known !== undefined) return known;
    const state = this.stateOf(number);
    const found = await find(state);
    const made = found.map((each) => new Edge(each, () => this.#after(state, each)));
    edges.set(name, made);
    return made;
  }

  /** What happens is something else from now on. */
  forgetEdges(): void {
    for (const { edges } of this.#nodes) edges.clear();
  }

  async #after(before: WorldState, { apply }: PossibleStep): Promise<number> {
    const state = copyOf(before);
    await apply(state);
    state.isUndisturbed ||= isQuiet(state);
    return this.numberOf(state);
  }

  #nodeOf(number: number): Node {
    const node = this.#nodes[number];
    if (node === undefined) throw new Error(`there is no state ${number}`);
    return node;
  }
}
