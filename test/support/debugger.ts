import { once } from 'node:events';
import { z } from 'zod';

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.string() }));
const Paused = z.object({
  method: z.literal('Debugger.paused'),
  params: z.object({ callFrames: z.array(z.object({ location: z.object({ lineNumber: z.int() }) })) }),
});

/** A debugger that is attached to a process, by the protocol that `node inspect` and editors speak. */
export class TestDebugger {
  readonly #socket: WebSocket;
  #last = 0;
  /** Where it has stopped, from 1. It goes on at once. */
  readonly lines: number[] = [];

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const paused = Paused.safeParse(JSON.parse(String(data)));
      if (!paused.success) return;
      const [frame] = paused.data.params.callFrames;
      if (frame !== undefined) this.lines.push(frame.location.lineNumber + 1);
      this.#send('Debugger.resume');
    });
  }

  /** @param address such as 127.0.0.1:9229 */
  static async attach(address: string): Promise<TestDebugger> {
    const answer = await fetch(`http://${address}/json/list`);
    const [target] = Targets.parse(await answer.json());
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await once(socket, 'open');
    const its = new TestDebugger(socket);
    its.#send('Debugger.enable');
    return its;
  }

  /** @param line from 1 */
  breakAt(urlRegex: string, line: number): void {
    this.#send('Debugger.setBreakpointByUrl', { urlRegex, lineNumber: line - 1 });
  }

  detach(): void {
    this.#socket.close();
  }

  #send(method: string, params: object = {}): void {
    this.#socket.send(JSON.stringify({ id: (this.#last += 1), method, params }));
  }
}
