import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { ConfigurationError } from '../config/configuration-error.ts';
import { persistently, type Persistence } from './persistently.ts';
import { ensureSearchAttributes, SearchAttributesMissing, type RegistrationRequest } from './registration.ts';

interface ConnectRequest extends Omit<RegistrationRequest, 'connection'>, Persistence {
  readonly options: NativeConnectionOptions;
}

/**
 * Connects to Temporal and makes its namespace ready for our runs, however long it takes. Logs each reason to wait once.
 * Client and worker share the connection, so that Temporal can answer a start with the first task.
 *
 * @throws AbortError if the signal comes first; ConfigurationError if waiting cannot help
 */
export async function connectToTemporal(request: ConnectRequest): Promise<NativeConnection> {
  const { address, namespace } = request;
  const connection = await persistently(
    request,
    () => NativeConnection.connect(request.options),
    (message) => {
      const { words, advice, mayPass } = connectionProblem(message);
      const where = `Temporal at ${address} cannot be reached (${words})`;
      if (!mayPass) throw new ConfigurationError(`${where}; ${advice}`);
      return `${where}; retrying; ${advice}`;
    },
  );
  try {
    await persistently(
      request,
      () => ensureSearchAttributes({ ...request, connection }),
      (message, error) =>
        error instanceof SearchAttributesMissing
          ? `namespace "${namespace}" of Temporal at ${address} is not ready: ${message}`
          : `Temporal at ${address} cannot be used with namespace "${namespace}" (${message}); retrying; check TEMPORAL_NAMESPACE`,
    );
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Why Temporal cannot be reached. */
export interface ConnectionProblem {
  readonly words: string;
  readonly advice: string;
  /** Whether waiting can help; else the configuration of this process is wrong. */
  readonly mayPass: boolean;
}

interface Known extends ConnectionProblem {
  readonly sign: RegExp;
}

/** The SDK passes on messages of its Rust transport, tonic and rustls. None of them names a setting. */
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
    // A server that refuses a certificate may close the connection before its alert is read.
    sign: /ConnectionReset|broken pipe|connection (?:closed|was not ready)|UnexpectedEof|CloseNotify/i,
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

/** The SDK's core names the gRPC code, or passes on the server's message. */
const REFUSED_CREDENTIALS =
  /does not have valid authentication credentials|does not have permission|Unauthenticated|PermissionDenied/;

/** @param message of the error of NativeConnection.connect, or of the first call */
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
