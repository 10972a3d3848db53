import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import { run, type RunOptions } from './docker.ts';

/** What a project is started with. */
export interface ProjectOptions {
  readonly docker: string;
  readonly name: string;
  readonly files: readonly string[];
  /** Variables of the compose files. */
  readonly env: Readonly<Record<string, string>>;
}

const Runs = z.object({
  executions: z
    .array(
      z.object({ execution: z.object({ workflowId: z.string(), runId: z.string() }), status: z.string() }),
    )
    .default([]),
});

/** A run as the UI lists it. */
export interface Run {
  readonly workflowId: string;
  readonly runId: string;
  readonly open: boolean;
}

/** What a person does with `docker compose` and a browser. */
export class Project {
  readonly options: ProjectOptions;

  constructor(options: ProjectOptions) {
    this.options = options;
  }

  /** Starts it, and resolves once it has said what to do next. @returns what it said */
  async up(env: Readonly<Record<string, string>> = {}): Promise<string> {
    await this.#compose(['up', '--detach'], { env, shown: true });
    return this.nextSteps();
  }

  /** Makes the operator's image anew, and replaces its container alone. */
  async replaceOperator(env: Readonly<Record<string, string>>): Promise<void> {
    await this.#compose(['up', '--detach', '--no-deps', 'operator'], { env, shown: true });
    await eventually(
      async () => (await this.inspect('operator', '{{.State.Health.Status}}')) === 'healthy',
      120_000,
    );
  }

  async nextSteps(): Promise<string> {
    const container = await this.#containerOf('next-steps');
    const status = (await run([this.options.docker, 'wait', container])).trim();
    const said = await run([this.options.docker, 'logs', container]);
    if (status !== '0') throw new Error(`next-steps ended with ${status}:\n${said}`);
    return said;
  }

  async down(...flags: readonly string[]): Promise<void> {
    await this.#compose(['down', ...flags], { shown: true });
  }

  stop(service: string): Promise<string> {
    return this.#compose(['stop', service]);
  }

  exec(service: string, ...command: readonly string[]): Promise<string> {
    return this.#compose(['exec', '--no-TTY', service, ...command]);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.exec('kubernetes', 'kubectl', ...args);
  }

  apply(manifest: object): Promise<string> {
    return this.#compose(['exec', '--no-TTY', 'kubernetes', 'kubectl', 'apply', '--filename=-'], {
      input: JSON.stringify(manifest),
    });
  }

  /** As the field of the image's or container's description is printed by this template. */
  async inspect(service: string, template: string): Promise<string> {
    const container = await this.#containerOf(service);
    return (await run([this.options.docker, 'inspect', '--format', template, container])).trim();
  }

  /** The kubeconfig for this machine. @returns the file */
  async writeKubeconfig(file: string): Promise<string> {
    await writeFile(file, await this.exec('kubernetes', 'cat', '/kubeconfig/host.yaml'), { mode: 0o600 });
    return file;
  }

  /** By the API of the UI's server. */
  async runs(query = ''): Promise<readonly Run[]> {
    const url = `http://127.0.0.1:${this.#port('PORT_TEMPORAL_UI')}/api/v1/namespaces/default/workflows`;
    const { executions } = Runs.parse(
      await (await fetch(`${url}?query=${encodeURIComponent(query)}`)).json(),
    );
    return executions.map(({ execution, status }) => ({ ...execution, open: status.endsWith('RUNNING') }));
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#port('PORT_METRICS')}/metrics`)).text();
  }

  #port(name: string): string {
    const port = this.options.env[name];
    if (port === undefined) throw new Error(`${name} is not among the project's variables`);
    return port;
  }

  async #containerOf(service: string): Promise<string> {
    return (await this.#compose(['ps', '--all', '--quiet', service])).trim();
  }

  #compose(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { docker, name, files } = this.options;
    const chosen = files.flatMap((file) => ['--file', file]);
    return run([docker, 'compose', '--project-name', name, ...chosen, ...args], {
      ...options,
      env: { ...this.options.env, ...options.env },
    });
  }
}
