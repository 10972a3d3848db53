import { webcrypto } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, type Server } from 'node:tls';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';

/** PEM. */
interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateSource {
  /** Where `tls.crt` and `tls.key` are, as in a Secret of type `kubernetes.io/tls`; none: a certificate is made. */
  readonly certDir: string | undefined;
  readonly log: Logger;
}

/**
 * Gives a TLS server its certificate, and the next one as soon as the files have changed: connections made after
 * that get it.
 *
 * @throws ConfigurationError where the files cannot be used
 */
export async function presentCertificate(server: Server, { certDir, log }: CertificateSource): Promise<void> {
  if (certDir === undefined) {
    server.setSecureContext(await selfSigned());
    return;
  }
  const files = new CertificateFiles(certDir);
  server.setSecureContext(usable(files));
  // Before Node's own listener, which begins the handshake.
  server.prependListener('connection', () => renew(server, files, log));
}

/** @throws ConfigurationError */
function usable(files: CertificateFiles): CertifiedKey {
  try {
    return files.read();
  } catch (error) {
    const words = `the certificate of the metrics in ${files.dir} cannot be used: ${messageOf(error)}`;
    throw new ConfigurationError(
      `${words}; put tls.crt and tls.key there, or do without --metrics-cert-dir`,
      {
        cause: error,
      },
    );
  }
}

/** Half a renewal, or a bad one, leaves the old certificate in place. */
function renew(server: Server, files: CertificateFiles, log: Logger): void {
  try {
    if (!files.haveChanged()) return;
    server.setSecureContext(files.read());
    log.info({ dir: files.dir }, 'metrics are served with a new certificate');
  } catch (err) {
    log.warn({ err, dir: files.dir }, 'the new certificate of the metrics cannot be used: the old one stays');
  }
}

/** Read synchronously, since a handshake waits for it; they are small, and there is one a scraper. */
class CertificateFiles {
  readonly dir: string;
  #seen = '';

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Since they were last read, well or not. */
  haveChanged(): boolean {
    return this.#fingerprint() !== this.#seen;
  }

  read(): CertifiedKey {
    this.#seen = this.#fingerprint();
    const [certFile, keyFile] = this.#paths;
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    createSecureContext(pair); // throws where they do not belong together
    return pair;
  }

  #fingerprint(): string {
    // A mounted Secret changes by a symbolic link to another folder: hence the inode.
    return this.#paths
      .map((path) => statSync(path, { bigint: true }))
      .map(({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`)
      .join();
  }

  get #paths(): readonly [string, string] {
    return [join(this.dir, 'tls.crt'), join(this.dir, 'tls.key')];
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** It encrypts; whom one talks to, only a certificate from an authority tells. */
async function selfSigned(): Promise<CertifiedKey> {
  // Loaded only where it is needed: it takes a quarter of a second.
  await import('reflect-metadata');
  const { SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
  const names = [...new Set(['localhost', hostname()])].map((value) => ({ type: 'dns' as const, value }));
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=durable-operator-metrics',
    keys,
    signingAlgorithm: ECDSA,
    // Clocks differ.
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 365 * DAY_MS),
    extensions: [new SubjectAlternativeNameExtension(names)],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
  return { cert: certificate.toString('pem'), key };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
