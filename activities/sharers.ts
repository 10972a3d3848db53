import type { KubernetesList } from '../src/contract/object.ts';
import { BUILDS, PURPOSE_LABEL, type Artifact } from '../src/controllers/git-build/resource.ts';
import type { Sharer } from '../src/controllers/git-build/observation.ts';
import { mayShare, sharedWith } from '../src/controllers/git-build/sharing.ts';
import type { SpecOptions } from '../src/controllers/git-build/spec.ts';
import { buildView, podView, type BuildView, type PodView } from '../src/controllers/git-build/views.ts';
import { PODS } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { eachPage } from '../src/kubernetes/pages.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';

export interface SharersRequest {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** Those that the operator watches. Empty: all. */
  readonly namespaces: readonly string[];
  readonly options: SpecOptions;
  /** Of the build whose files these are. */
  readonly uid: string;
  readonly artifacts: readonly Artifact[];
}

/**
 * The other builds that have, or may have, the same files, and stay. A build that begins after this was read can still lose its
 * file, if it ends before the cleanup has run.
 *
 * @throws ApiError
 */
export async function sharersOf(request: SharersRequest): Promise<readonly Sharer[]> {
  const { artifacts } = request;
  const builds = await candidates(request);
  const pods = await podsOf(request, new Set(builds.map(({ namespace }) => namespace)));
  return builds.flatMap((build) => {
    const { namespace, name, uid } = build;
    const shared = sharedWith(build, pods, artifacts);
    return shared.length === 0 ? [] : [{ namespace, name, uid, artifacts: shared }];
  });
}

async function candidates({ client, namespaces, options, uid, artifacts }: SharersRequest) {
  const found: BuildView[] = [];
  for (const namespace of namespaces.length === 0 ? [undefined] : namespaces) {
    const onPage = ({ items }: KubernetesList) => {
      const views = (items ?? []).map((item) => buildView(item, options));
      found.push(...views.filter((view) => view.uid !== uid && mayShare(view, artifacts)));
    };
    await eachPage({ client, path: resourcePath(BUILDS, { namespace }) }, { onPage });
  }
  return found;
}

/** A build records where it runs only once it has ended. */
async function podsOf({ client }: SharersRequest, namespaces: Iterable<string>) {
  const found: PodView[] = [];
  const labelSelector = `${PURPOSE_LABEL}=build`;
  for (const namespace of namespaces) {
    const onPage = ({ items }: KubernetesList) => {
      found.push(...(items ?? []).flatMap((item) => podView(item) ?? []));
    };
    await eachPage({ client, path: resourcePath(PODS, { namespace }), labelSelector }, { onPage });
  }
  return found;
}
