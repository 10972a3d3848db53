/** Where the node's directory is in the containers of Jobs. */
export const MOUNT_PATH = '/opt';

/**
 * Builds: clone, go there, run the command, copy what it left. It is the same for every build: values come from the
 * environment, quoted, behind `--`, so that of all of them only BUILD_COMMAND is ever read as code. It has no `$(`
 * and no `$$`, which the kubelet would read before bash does.
 *
 * An old binary is removed before the copy, which thus never writes through a link or into a running file.
 *
 * @param into the directory that the binary is copied to
 */
export function buildScript(into = MOUNT_PATH): string {
  return `set -euo pipefail
git clone -- "$GIT_URL" "$CLONE_PATH"
cd -- "$CLONE_PATH"
bash -ec -- "$BUILD_COMMAND"
cp --no-target-directory --remove-destination -- "./$BINARY_NAME" "${into}/$BINARY_NAME"
`;
}

/** Removes the binaries that its arguments name; one that is not there counts as removed. */
export function cleanupScript(from = MOUNT_PATH): string {
  return `set -euo pipefail
cd -- "${from}"
rm -f -- "$@"
`;
}

/**
 * What reads as `text` once the kubelet has expanded `$(NAME)` in it: `$$` is its way to write `$`.
 * Source: kubernetes/third_party/forked/golang/expansion, and the API reference of Container.
 */
export function unexpanded(text: string): string {
  return text.replaceAll('$', '$$$$');
}
