import { describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { GRPC } from '../../src/temporal/grpc-status.ts';
import { RunReader, type TemporalCalls } from '../../src/temporal/run-reader.ts';

interface Server {
  readonly canPause?: boolean;
  readonly executions?: readonly object[];
  readonly listError?: Error;
}

/** A server, and the requests that it got. */
function aServer(first: Server = {}) {
  let server = first;
  const requests: string[] = [];
  const workflowService = {
    describeNamespace: () => {
      requests.push('describeNamespace');
      return Promise.resolve({
        namespaceInfo: { capabilities: { workflowPause: server.canPause ?? false } },
      });
    },
    listWorkflowExecutions: ({ query }: { readonly query: string }) => {
      requests.push(query);
      if (server.listError !== undefined) return Promise.reject(server.listError);
      return Promise.resolve({ executions: server.executions ?? [], nextPageToken: new Uint8Array() });
    },
  };
  // The reader uses nothing else of a client.
  const client = { workflowService } as unknown as Client;
  const calls: TemporalCalls = { namespace: 'default', call: (work) => work(client) };
  const become = (another: Server) => {
    server = another;
  };
  return { calls, requests, become };
}

function execution(attributes: Readonly<Record<string, string>>) {
  const fields = Object.entries(attributes).map(
    ([name, value]) => [name, defaultPayloadConverter.toPayload(value)] as const,
  );
  return {
    execution: { workflowId: 'pod-set/shop/web/u', runId: 'r' },
    status: 1,
    startTime: { seconds: 1 },
    searchAttributes: { indexedFields: Object.fromEntries(fields) },
  };
}

describe('the list of open runs', () => {
  it('asks once per connection whether the server can pause runs', async () => {
    const { calls, requests } = aServer({ canPause: true });
    const reader = new RunReader(calls);
    await reader.listOpen({ taskQueue: 'q' });
    await reader.listOpen({ taskQueue: 'q' });
    const query = "ExecutionStatus IN ('Running', 'Paused') AND TaskQueue = 'q'";
    expect(requests).toEqual(['describeNamespace', query, query]);
  });

  it('asks anew after a list has failed, or ten minutes: the server may be of another version by then', async () => {
    let nowMs = 0;
    const server = aServer({ canPause: true });
    const reader = new RunReader(server.calls, 'fail', () => nowMs);
    const asked = async () => {
      server.requests.length = 0;
      await reader.listOpen({}).catch(() => undefined);
      return server.requests;
    };
    const [both, running] = ["ExecutionStatus IN ('Running', 'Paused')", "ExecutionStatus = 'Running'"];
    expect(await asked()).toEqual(['describeNamespace', both]);
    server.become({ listError: new Error("invalid ExecutionStatus value 'Paused'") });
    expect(await asked()).toEqual([both]);
    server.become({});
    expect(await asked()).toEqual(['describeNamespace', running]);
    server.become({ canPause: true });
    nowMs = 599_999;
    expect(await asked()).toEqual([running]);
    nowMs = 600_001;
    expect(await asked()).toEqual(['describeNamespace', both]);
  });

  it('does not name a status that the server does not know', async () => {
    const { calls, requests } = aServer({ canPause: false });
    await new RunReader(calls).listOpen({ controller: 'pod-set', namespace: 'shop' });
    expect(requests.at(-1)).toBe(
      "ExecutionStatus = 'Running' AND Controller = 'pod-set' AND ResourceNamespace = 'shop'",
    );
  });

  it('has the runs of resources, and no others', async () => {
    const ours = { Controller: 'pod-set', ResourceNamespace: 'shop', ResourceName: 'web', ResourceUid: 'u' };
    const { calls } = aServer({ executions: [execution(ours), execution({})] });
    const ref = { controller: 'pod-set', namespace: 'shop', name: 'web', uid: 'u' };
    expect(await new RunReader(calls).listOpen({})).toMatchObject([{ ref, isOpen: true }]);
  });

  it('is empty for a command, and fails for the operator, where no operator has registered its attributes', async () => {
    const details = 'invalid query: no such search attribute';
    const listError = Object.assign(new Error(details), {
      code: GRPC.invalidArgument,
      details,
      metadata: {},
    });
    const { calls } = aServer({ listError });
    expect(await new RunReader(calls, 'no runs').listOpen({})).toEqual([]);
    await expect(new RunReader(calls).listOpen({})).rejects.toBe(listError);
  });
});
