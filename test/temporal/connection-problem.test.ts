import { describe, expect, it } from '@jest/globals';
import { connectionProblem } from '../../src/temporal/connection-problem.ts';

const transport = (words: string) => `tonic::transport::Error(Transport, ${words})`;
const alert = (name: string) =>
  transport(`hyper::Error(Io, Custom { kind: InvalidData, error: "received fatal alert: ${name}" })`);

describe('a connection problem', () => {
  it.each([
    ['ConnectError(Custom { error: InvalidCertificate(UnknownIssuer) })', 'signed by an unknown authority'],
    ['InvalidCertificate(NotValidForNameContext { expected: … })', 'for another host name'],
    ['InvalidCertificate(ExpiredContext { time: … })', 'has expired or is not valid yet'],
    ['InvalidCertificate(NotValidYetContext { time: … })', 'has expired or is not valid yet'],
    ['ConnectError("tcp connect error", Os { code: 111, kind: ConnectionRefused })', 'connection refused'],
    ['hyper::Error(Io, Kind(ConnectionReset))', 'it closed the connection'],
    ['hyper::Error(Canceled, "connection closed")', 'it closed the connection'],
  ])('has words for %s', (words, meaning) => {
    expect(connectionProblem(transport(words)).words).toContain(meaning);
  });

  it.each([
    ['CertificateRequired', 'it requires a client certificate'],
    ['UnknownCA', 'it rejects the client certificate'],
    ['BadCertificate', 'it rejects the client certificate'],
    ['CertificateExpired', 'it rejects the client certificate'],
  ])('says what the alert %s means', (name, words) => {
    const problem = connectionProblem(alert(name));
    expect(problem.words).toBe(words);
    expect(problem.advice).toContain('TEMPORAL_TLS_CLIENT_CERT_PATH');
  });

  it('quotes the server where it refuses the credentials', () => {
    const message = `Failed to call GetSystemInfo: code: 'The request does not have valid authentication credentials', message: "no such key"`;
    expect(connectionProblem(message)).toMatchObject({ words: 'it rejects the credentials: no such key' });
  });

  it('cannot pass where what we were given is of no use', () => {
    expect(connectionProblem(transport('PrivateKeyParseError')).mayPass).toBe(false);
    expect(connectionProblem(transport('InconsistentKeys(KeyMismatch)')).mayPass).toBe(false);
    expect(connectionProblem(transport('InvalidCertificate(UnknownIssuer)')).mayPass).toBe(true);
  });

  it('that nobody foresaw is told in its first line', () => {
    expect(connectionProblem('first\nsecond')).toMatchObject({ words: 'first', mayPass: true });
  });
});
