import { request } from 'node:https';

/** How to reach the stack's own API server, before any kubeconfig is needed. */
export interface ClusterAccess {
  readonly url: string;
  readonly token: string;
  /** PEM. */
  readonly authority: string;
}

export interface ClusterAnswer {
  readonly status: number;
  readonly body: string;
}

const TIMEOUT_MS = 5000;

/**
 * One request to the API server; a body makes it a POST.
 *
 * @throws where no answer comes within 5 s
 */
export function askCluster(access: ClusterAccess, path: string, body?: object): Promise<ClusterAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      new URL(path, access.url),
      {
        method: body === undefined ? 'GET' : 'POST',
        ca: access.authority,
        headers: { authorization: `Bearer ${access.token}`, 'content-type': 'application/json' },
        timeout: TIMEOUT_MS,
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
      },
    );
    asked.once('timeout', () =>
      asked.destroy(new Error(`${access.url}${path}: no answer in ${TIMEOUT_MS} ms`)),
    );
    asked.once('error', reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
