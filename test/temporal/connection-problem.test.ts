import { describe, expect, it } from '@jest/globals';
import { connectionProblem } from '../../src/temporal/connection.ts';

/** Those that a real server shows are in connection.integration.ts. */
describe('a connection problem', () => {
  it.each([
    ['InvalidCertificate(ExpiredContext { time: … })', 'has expired or is not valid yet'],
    ['InvalidCertificate(NotValidYetContext { time: … })', 'has expired or is not valid yet'],
    ['Os { code: 111, kind: ConnectionRefused }', 'connection refused'],
    [
      'hyper::Error(Io, Custom { error: "received fatal alert: CertificateRequired" })',
      'it requires a client',
    ],
    [
      'hyper::Error(Io, Custom { error: "received fatal alert: UnknownCA" })',
      'it rejects the client certificate',
    ],
  ])('has words for %s', (words, meaning) => {
    expect(connectionProblem(`tonic::transport::Error(Transport, ${words})`).words).toContain(meaning);
  });

  it('that nobody foresaw is told in its first line', () => {
    expect(connectionProblem('first\nsecond')).toMatchObject({ words: 'first', mayPass: true });
  });
});
