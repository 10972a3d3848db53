import type { TemporalTarget } from '../../config/temporal.ts';
import { createKubernetesClient, type KubernetesClient } from '../../kubernetes/client.ts';
import { clusterUid } from '../../kubernetes/cluster-uid.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import type { Program } from '../../program/program.ts';
import { VERSION } from '../../version.ts';
import {
  connectTemporal,
  temporalTarget,
  type OpenTemporal,
  type TemporalAccess,
  type TemporalOptions,
} from './temporal.ts';

/** The servers and the namespace, as the command line names them. */
export interface SessionOptions extends TemporalOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly temporalUiUrl?: string;
}

export interface Session {
  readonly program: Program;
  readonly client: KubernetesClient;
  /** That of `-n`, or of the context. */
  readonly namespace: string;
  /** Connects, once. @throws TemporalProblem */
  temporal(): Promise<TemporalAccess>;
  /** The page of a run in the Temporal UI; undefined if its URL is unknown. */
  linkTo(workflowId: string, runId: string): Promise<string | undefined>;
  close(): Promise<void>;
}

export function openSession(
  options: SessionOptions & { readonly program: Program },
  env: NodeJS.ProcessEnv,
): Session {
  const { program, kubeconfig, context } = options;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env });
  const client = createKubernetesClient(kubeConfig, { program: program.name, version: VERSION });
  const target = temporalTarget(env);
  let connecting: Promise<OpenTemporal> | undefined;
  const temporal = () =>
    // A user who may not read the UID has to know which operator is meant.
    (connecting ??= connectTemporal(
      target,
      options,
      clusterUid(client).catch(() => undefined),
    ));
  return {
    ...{ program, client },
    namespace:
      options.namespace ?? kubeConfig.getContextObject(kubeConfig.currentContext)?.namespace ?? 'default',
    temporal,
    async linkTo(workflowId, runId) {
      const access = await temporal().catch(() => undefined);
      const published = access?.settings?.options.temporalUi.url;
      const base = options.temporalUiUrl ?? published ?? localUi(target);
      if (base === undefined) return undefined;
      const [namespace = '', workflow = ''] = [target.namespace, workflowId].map(encodeURIComponent);
      return `${base.replace(/\/+$/, '')}/namespaces/${namespace}/workflows/${workflow}/${runId}`;
    },
    async close() {
      const open = await connecting?.catch(() => undefined);
      await Promise.all([client.close(0), open?.close()]);
    },
  };
}

/** The local stack has its UI there, like Temporal's own development server. */
function localUi({ address }: TemporalTarget): string | undefined {
  return /^(localhost|127\.0\.0\.1|\[::1\]):7233$/.test(address) ? 'http://localhost:8233' : undefined;
}
