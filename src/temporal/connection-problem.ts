/** Why Temporal cannot be reached, in words for people. */
export interface ConnectionProblem {
  readonly words: string;
  /** What to look at. */
  readonly advice: string;
  /** Whether it can go away while we wait; else it lies in what this process was given. */
  readonly mayPass: boolean;
}

interface Known extends ConnectionProblem {
  readonly sign: RegExp;
}

/** The SDK passes on the Rust words of its transport, tonic and rustls: none of them names a setting. */
const KNOWN: readonly Known[] = [
  {
    sign: /InvalidCertificate\(UnknownIssuer\)/,
    words: 'its certificate is signed by an unknown authority',
    advice: 'set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the certificate of that authority',
    mayPass: true,
  },
  {
    sign: /NotValidForName/,
    words: 'its certificate is for another host name',
    advice: 'correct TEMPORAL_ADDRESS, or set TEMPORAL_TLS_SERVER_NAME',
    mayPass: true,
  },
  {
    sign: /InvalidCertificate\((?:Expired|NotValidYet)/,
    words: 'its certificate has expired or is not valid yet',
    advice: 'renew it, or correct the clock',
    mayPass: true,
  },
  {
    sign: /fatal alert: CertificateRequired/,
    words: 'it requires a client certificate',
    advice: 'set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
    mayPass: true,
  },
  {
    sign: /fatal alert: \w*(?:Certificate|CA|Decrypt)/i,
    words: 'it rejects the client certificate',
    advice: 'set TEMPORAL_TLS_CLIENT_CERT_PATH to one that it trusts',
    mayPass: true,
  },
  {
    sign: /PrivateKeyParseError|KeyMismatch|CertificateParseError/,
    words: 'the client certificate or its key is invalid, or they do not match',
    advice: 'correct TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
    mayPass: false,
  },
  {
    // Who refuses a certificate may close before what it says about it is read.
    sign: /ConnectionReset|broken pipe|connection closed|UnexpectedEof|CloseNotify/i,
    words: 'it closed the connection',
    advice:
      'it may require TLS (TEMPORAL_TLS=true), or a client certificate that it trusts (TEMPORAL_TLS_CLIENT_CERT_PATH)',
    mayPass: true,
  },
  {
    sign: /ConnectionRefused|Connection refused/,
    words: 'connection refused',
    advice: 'check TEMPORAL_ADDRESS',
    mayPass: true,
  },
];

/** The name of the gRPC code, as the SDK's core describes it, and the server's words. */
const REFUSED_CREDENTIALS =
  /does not have valid authentication credentials|does not have permission|Unauthenticated|PermissionDenied/;

/** @param message of what NativeConnection.connect or the first call has thrown */
export function connectionProblem(message: string): ConnectionProblem {
  const known = KNOWN.find(({ sign }) => sign.test(message));
  if (known !== undefined) return known;
  const [line = ''] = message.split('\n');
  if (REFUSED_CREDENTIALS.test(line)) {
    const [, said = 'no reason given'] = /message: "([^"]*)"/.exec(line) ?? [];
    return {
      words: `it rejects the credentials: ${said}`,
      advice: 'check TEMPORAL_API_KEY',
      mayPass: true,
    };
  }
  return { words: line, advice: 'check TEMPORAL_ADDRESS', mayPass: true };
}
