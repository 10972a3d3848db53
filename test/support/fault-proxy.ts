import { ApiProxy, type Journalled, type Verdict } from '../../testing/stack/api-proxy.ts';

export type ProxiedRequest = Pick<Journalled, 'method' | 'path'>;

/** Answers in the server's place, or says what becomes of its answer; undefined: nothing is wrong. */
export type Fault =
  | {
      readonly answer: number;
      readonly retryAfterSeconds?: number;
      /** The server's words, where they matter. */
      readonly message?: string;
    }
  | 'answer is lost'
  /** The request never arrives, and its sender waits. */
  | 'no answer';

/** The campaign's proxy, for tests that say of each request what goes wrong with it. */
export class FaultProxy {
  /** Asked for every request. */
  fault: (request: ProxiedRequest) => Fault | undefined = () => undefined;
  readonly #api: ApiProxy;

  private constructor(api: ApiProxy) {
    this.#api = api;
    api.judge = (request) => verdictOf(this.fault(request));
  }

  /**
   * @param kubeconfig of whom it is to stand for
   * @param file where to write the kubeconfig that goes through it
   */
  static async start(kubeconfig: string, file: string): Promise<FaultProxy> {
    return new FaultProxy(await ApiProxy.start(kubeconfig, file));
  }

  /** The file of the kubeconfig that goes through it. */
  get kubeconfig(): string {
    return this.#api.kubeconfig;
  }

  get requests(): readonly ProxiedRequest[] {
    return this.#api.journal;
  }

  stop(): Promise<void> {
    return this.#api.stop();
  }
}

function verdictOf(fault: Fault | undefined): Verdict {
  if (fault === undefined) return {};
  if (fault === 'answer is lost') return { isAnswerLost: true };
  if (fault === 'no answer') return { instead: fault };
  const { answer: status, retryAfterSeconds, message = 'the fault proxy says so' } = fault;
  const body = JSON.stringify({ kind: 'Status', message, code: status });
  const wait = retryAfterSeconds !== undefined && { retryAfter: String(retryAfterSeconds) };
  return { instead: { status, body, ...wait } };
}
