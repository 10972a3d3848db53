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
    words: 'its certificate is from an unknown authority',
    advice: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH names the file of the authority',
    mayPass: true,
  },
  {
    sign: /NotValidForName/,
    words: 'its certificate is for another host name',
    advice: 'TEMPORAL_ADDRESS, or TEMPORAL_TLS_SERVER_NAME, says the name',
    mayPass: true,
  },
  {
    sign: /InvalidCertificate\((?:Expired|NotValidYet)/,
    words: 'its certificate is not valid now',
    advice: 'renew it, or correct the clock',
    mayPass: true,
  },
  {
    sign: /fatal alert: CertificateRequired/,
    words: 'it wants a client certificate',
    advice: 'TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH name one',
    mayPass: true,
  },
  {
    sign: /fatal alert: \w*(?:Certificate|CA|Decrypt)/i,
    words: 'it refuses the client certificate',
    advice: 'TEMPORAL_TLS_CLIENT_CERT_PATH names one that it knows',
    mayPass: true,
  },
  {
    sign: /PrivateKeyParseError|KeyMismatch|CertificateParseError/,
    words: 'client certificate and key cannot be used together',
    advice: 'correct TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
    mayPass: false,
  },
  {
    // Who refuses a certificate may close before what it says about it is read.
    sign: /ConnectionReset|broken pipe|connection closed|UnexpectedEof|CloseNotify/i,
    words: 'it hung up',
    advice:
      'perhaps it wants TLS (TEMPORAL_TLS=true), or a client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH) that it knows',
    mayPass: true,
  },
  {
    sign: /ConnectionRefused|Connection refused/,
    words: 'connection refused',
    advice: 'TEMPORAL_ADDRESS says where it is',
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
      words: `it refuses the credentials: ${said}`,
      advice: 'TEMPORAL_API_KEY has the key',
      mayPass: true,
    };
  }
  return { words: line, advice: 'TEMPORAL_ADDRESS says where it is', mayPass: true };
}
