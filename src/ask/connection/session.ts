import type { Worker } from 'node:worker_threads';
import type { TemporalTarget } from '../../config/temporal.ts';
import { createKubernetesClient, type KubernetesClient } from '../../kubernetes/client.ts';
import { clusterUid } from '../../kubernetes/cluster-uid.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { VERSION } from '../../version.ts';
import { RunsThread } from '../runs-thread.ts';
import type { OpenRuns, OpenRunsOf } from '../runs/open-runs.ts';
import {
  connectTemporal,
  temporalTarget,
  type OpenTemporal,
  type TemporalAccess,
  type TemporalOptions,
} from './temporal.ts';

/** Where to ask, as the command line says it. */
export interface SessionOptions extends TemporalOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly temporalUiUrl?: string;
}

/** Where one command asks. */
export interface Session {
  /** Asks with the user's own rights. */
  readonly client: KubernetesClient;
  /** That of `-n`, or of the context. */
  readonly namespace: string;
  /** Connects, once. @throws TemporalProblem where it cannot be reached or refuses */
  temporal(): Promise<TemporalAccess>;
  /** What the running operator has published, and then the open runs, with how each of them does. @throws TemporalProblem */
  openRuns(of: OpenRunsOf): Promise<OpenRuns>;
  /** The page of a run in the Temporal UI; undefined where nobody has said where that is. */
  linkTo(workflowId: string, runId: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/**
 * @param runsThread where it was started already
 * @throws ConfigurationError
 */
export function openSession(options: SessionOptions, env: NodeJS.ProcessEnv, runsThread?: Worker): Session {
  const { kubeconfig, context } = options;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env });
  const client = createKubernetesClient(kubeConfig, { version: VERSION });
  const target = temporalTarget(env);
  let connecting: Promise<OpenTemporal> | undefined;
  let thread: RunsThread | undefined;
  let asking: Promise<string | undefined> | undefined;
  // Who may not read it has to know which operator is meant.
  const ownUid = () => (asking ??= clusterUid(client).catch(() => undefined));
  const temporal = () => (connecting ??= connectTemporal(target, options, ownUid()));
  return {
    client,
    namespace:
      options.namespace ?? kubeConfig.getContextObject(kubeConfig.currentContext)?.namespace ?? 'default',
    temporal,
    openRuns: async (of) => {
      thread ??= new RunsThread(options, runsThread);
      return thread.openRuns({ ...of, ownUid: await ownUid() });
    },
    linkTo: async (workflowId, runId) => {
      const published = await temporal().then(
        ({ settings }) => settings?.options.temporalUi.url,
        () => undefined,
      );
      const base = options.temporalUiUrl ?? published ?? localUi(target);
      return base && linkTo(base, { namespace: target.namespace, workflowId, runId });
    },
    async close() {
      const open = await connecting?.catch(() => undefined);
      await Promise.all([client.close(0), open?.close(), thread?.close()]);
    },
  };
}

/** The local stack has its UI there, as Temporal's own development server has. */
function localUi({ address }: TemporalTarget): string | undefined {
  return /^(localhost|127\.0\.0\.1|\[::1\]):7233$/.test(address) ? 'http://localhost:8233' : undefined;
}

interface RunPlace {
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
}

export function linkTo(base: string, { namespace, workflowId, runId }: RunPlace): string {
  const [inNamespace, ofWorkflow] = [namespace, workflowId].map(encodeURIComponent);
  return `${base.replace(/\/+$/, '')}/namespaces/${inNamespace ?? ''}/workflows/${ofWorkflow ?? ''}/${runId}`;
}
