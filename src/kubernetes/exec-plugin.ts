import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { KubeCluster } from './config.ts';

/** Source: Kubernetes docs, "client-go credential plugins". */
const EXEC = z.object({
  apiVersion: z.string().default('client.authentication.k8s.io/v1'),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  provideClusterInfo: z.boolean().nullish(),
  interactiveMode: z.string().nullish(),
});
type Exec = z.infer<typeof EXEC>;

const CREDENTIAL = z.object({
  token: z.string().optional(),
  clientCertificateData: z.string().optional(),
  clientKeyData: z.string().optional(),
  expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
});
/** What a plugin prints: the status of an ExecCredential. */
export type PluginCredential = z.infer<typeof CREDENTIAL>;
const EXEC_CREDENTIAL = z.object({
  status: CREDENTIAL.refine(({ token, clientKeyData }) => token !== undefined || clientKeyData !== undefined),
});

/** A credential has a few KiB. */
const MOST_PRINTED = 1 << 20;

/**
 * The credential plugin of a kubeconfig's user. It runs as kubectl runs it without a terminal: nobody could answer a question, so
 * its stdin is empty.
 */
export class ExecPlugin {
  readonly command: string;
  readonly #exec: Exec;
  readonly #cluster: KubeCluster;
  readonly #onStderr: (line: string) => void;
  #last: PluginCredential | undefined;

  /** @throws ConfigurationError */
  constructor(exec: unknown, cluster: KubeCluster, onStderr: (line: string) => void) {
    this.#exec = parseExec(exec);
    this.command = this.#exec.command;
    this.#cluster = cluster;
    this.#onStderr = onStderr;
  }

  /** The last one until it expires, else a new one. The signal ends the plugin, and all that it has started. */
  async credential(signal: AbortSignal): Promise<PluginCredential> {
    const { expirationTimestamp } = this.#last ?? {};
    const isOver = expirationTimestamp !== undefined && Date.parse(expirationTimestamp) <= Date.now();
    if (this.#last === undefined || isOver) this.#last = this.#parsed(await this.#printed(signal));
    return this.#last;
  }

  /** The API server has rejected the last credential. */
  forget(): void {
    this.#last = undefined;
  }

  async #printed(signal: AbortSignal): Promise<string> {
    const child = spawn(this.command, this.#exec.args ?? [], {
      env: { ...process.env, ...this.#environment() },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Many a plugin is a script: in a group of their own, what it has started ends with it.
      detached: true,
    });
    const end = () => endGroupOf(child);
    signal.addEventListener('abort', end);
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (printed.length < MOST_PRINTED) printed += text;
      else end();
    });
    createInterface({ input: child.stderr }).on('line', this.#onStderr);
    const closed = new Promise<number | null>((resolve, reject) => {
      child.on('error', reject).on('close', resolve);
    });
    const status = await closed
      .catch((error: unknown) => this.#fail(`cannot be run: ${String(error)}`))
      .finally(() => signal.removeEventListener('abort', end));
    if (status !== 0) this.#fail(status === null ? 'was ended' : `ended with status ${status}`);
    return printed;
  }

  /** Never with what it has printed: that may hold a credential. */
  #fail(how: string): never {
    throw new Error(`the exec plugin ${this.command} ${how}`);
  }

  #environment(): NodeJS.ProcessEnv {
    const { env, apiVersion, provideClusterInfo } = this.#exec;
    const spec = { interactive: false, ...(provideClusterInfo && { cluster: infoOf(this.#cluster) }) };
    return {
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify({ kind: 'ExecCredential', apiVersion, spec }),
    };
  }

  #parsed(printed: string): PluginCredential {
    const { data } = z.string().transform(parseJson).pipe(EXEC_CREDENTIAL).safeParse(printed);
    return data?.status ?? this.#fail('did not print an ExecCredential');
  }
}

function parseExec(raw: unknown): Exec {
  const { data: exec, error } = EXEC.safeParse(raw);
  if (error !== undefined)
    throw new ConfigurationError(
      `kubeconfig: exec of the user is invalid: ${z.prettifyError(error).replaceAll(/\s+/g, ' ')}`,
    );
  if (exec.interactiveMode !== 'Always') return exec;
  throw new ConfigurationError(
    `kubeconfig: the exec plugin ${exec.command} needs a terminal (interactiveMode: Always), which it cannot have here; choose another user`,
  );
}

/** Source: client-go, `rest.ConfigToExecCluster`. */
function infoOf({ server, tlsServerName, skipTLSVerify, caFile, caData, proxyUrl, execConfig }: KubeCluster) {
  return {
    server,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': skipTLSVerify,
    'certificate-authority-data': caFile ? readFileSync(caFile, 'base64') : caData,
    'proxy-url': proxyUrl,
    config: execConfig,
  };
}

function endGroupOf(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
