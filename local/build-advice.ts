/** What go says, and what to do about it; the first that fits counts. */
const ADVICE: readonly (readonly [said: RegExp, advice: string])[] = [
  [
    /no space left on device|disk quota exceeded/,
    'The disk is full: the build needs about 8 GB in the folders that `go env GOCACHE GOMODCACHE` names, of which ' +
      '`go clean -cache -modcache` gives back all. Free some, or set GOCACHE and GOMODCACHE to folders on a larger disk',
  ],
  [
    /checksum mismatch|SECURITY ERROR/,
    'A download is not what go.sum says. Run `go clean -modcache`; if it happens again, your module proxy ' +
      '(`go env GOPROXY`) serves something else than the original',
  ],
  [
    /signal: killed|cannot allocate memory|out of memory/,
    'The compiler was killed, probably because memory ran out. Close other programs, or let it compile one package ' +
      'at a time with GOFLAGS=-p=1 in the environment',
  ],
  [
    /dial tcp|lookup .* no such host|i\/o timeout|TLS handshake|x509:|proxyconnect|connection re(?:set|fused)|unexpected EOF|50[234] /,
    'The Go module proxy cannot be reached. Check the network; behind a firewall, set HTTPS_PROXY, or GOPROXY to a ' +
      'proxy that you can reach',
  ],
  [
    /(?:40[13]|407) |Forbidden|Unauthorized|module lookup disabled/,
    'The Go module proxy refuses. Check `go env GOPROXY GOFLAGS` and the credentials that it needs (~/.netrc)',
  ],
];

const OTHERWISE =
  'This is not known to happen: check `go env GOFLAGS GOPROXY` for settings that change what is built, and report ' +
  'it with the log';

/** What a person can do about a build that failed with these words. */
export function adviceFor(lastWords: string): string {
  return ADVICE.find(([said]) => said.test(lastWords))?.[1] ?? OTHERWISE;
}
