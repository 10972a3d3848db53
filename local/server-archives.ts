import type { ProgramName } from './server-pins.ts';

/** An official build of servers, and its published checksum. */
export interface ServerArchive {
  /** `process.platform` and `process.arch`. */
  readonly platform: string;
  readonly programs: readonly ProgramName[];
  readonly version: string;
  readonly url: string;
  /** SHA-256 or SHA-512 in hex: the length tells. */
  readonly sha: string;
  /** The page with this checksum. */
  readonly source: string;
  /** The folder of the programs in the archive. Undefined: the file is the program. */
  readonly folder?: string;
}

/**
 * Programs that are not in this table are built with Go. A checksum comes from a public page, never from the downloaded
 * file. Each version fits the one in tools/.
 *
 * All programs of Kubernetes come from one archive, so the controller manager is never newer than the API server. The
 * archive is for Linux alone. The `envtest` archives of controller-tools lag behind by a patch version, and their etcd
 * by a minor one.
 */
export const SERVER_ARCHIVES: readonly ServerArchive[] = [
  kubernetes(
    'amd64',
    'b0fc15554233d9dcf7284bca259bc238aa89003dc2d821f7074f385f3825dead854ae175482ccb5632a0930ffc1d3c0eff1cda2ada972fba9a5d46033a8b1e52',
  ),
  kubernetes(
    'arm64',
    '65c78d6893d683fc5e7f232f8638243886c8b1b7dbe055746ae7d38fdf8016456b1710ce4fc1133127880a65aed9492f737995694462baad13495a7f3d9ef0c5',
  ),
  etcd('amd64', 'e8cd3fa8064c98137c5dbd78b76f969417ace84efb83c481041d7a52ffdd8fb9'),
  etcd('arm64', 'd7e25e08f694b6ed7792fc7b7a891fe2c3f3d3dccfe2f3bfdb1547b0eb75b6da'),
  kwok('amd64', 'f5a4385a2ae1b9dd7f8acae18e002a75c0ebba124ae9d7259aa8dadb50711f46'),
  kwok('arm64', '628f7d277860f524a2a775c217adcc58828e7b59ab0933680315784f1b8b0e37'),
  temporal('linux', 'amd64', 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d'),
  temporal('linux', 'arm64', 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5'),
  temporal('darwin', 'amd64', 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9'),
  temporal('darwin', 'arm64', 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415'),
];

type Architecture = 'amd64' | 'arm64';

function platformOf(system: 'linux' | 'darwin', architecture: Architecture): string {
  return `${system}-${architecture === 'amd64' ? 'x64' : architecture}`;
}

function kubernetes(architecture: Architecture, sha: string): ServerArchive {
  const version = '1.36.3';
  return {
    platform: platformOf('linux', architecture),
    programs: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'],
    version,
    url: `https://dl.k8s.io/v${version}/kubernetes-server-linux-${architecture}.tar.gz`,
    sha,
    source: 'https://github.com/kubernetes/kubernetes/blob/v1.36.4/CHANGELOG/CHANGELOG-1.36.md',
    folder: 'kubernetes/server/bin',
  };
}

function etcd(architecture: Architecture, sha: string): ServerArchive {
  const version = '3.7.1';
  const folder = `etcd-v${version}-linux-${architecture}`;
  return {
    platform: platformOf('linux', architecture),
    programs: ['etcd'],
    version,
    url: `https://github.com/etcd-io/etcd/releases/download/v${version}/${folder}.tar.gz`,
    sha,
    source:
      'https://github.com/sous-chefs/etcd/blob/23bea367002176a536a64fc108c71fffbab35581/resources/etcd_installation_binary.rb',
    folder,
  };
}

function kwok(architecture: Architecture, sha: string): ServerArchive {
  const version = '0.8.0';
  return {
    platform: platformOf('linux', architecture),
    programs: ['kwok'],
    version,
    url: `https://github.com/kubernetes-sigs/kwok/releases/download/v${version}/kwok-linux-${architecture}`,
    sha,
    source: 'https://aur.archlinux.org/cgit/aur.git/tree/PKGBUILD?h=kwok-bin',
  };
}

function temporal(system: 'linux' | 'darwin', architecture: Architecture, sha: string): ServerArchive {
  const version = '1.5.1';
  return {
    platform: platformOf(system, architecture),
    programs: ['temporal'],
    version,
    url: `https://github.com/temporalio/cli/releases/download/v${version}/temporal_cli_${version}_${system}_${architecture}.tar.gz`,
    sha,
    source:
      'https://github.com/cashapp/hermit-packages/blob/f0517fd7532fc6adfd910cfba3ef2b4c59f662db/temporal-cli.hcl',
    folder: '.',
  };
}
