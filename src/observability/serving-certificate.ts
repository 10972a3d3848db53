import { webcrypto } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, type Server } from 'node:tls';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';

/** PEM. */
interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateSource {
  /** The directory of `tls.crt` and `tls.key`, as in a Secret of type `kubernetes.io/tls`; undefined: self-signed. */
  readonly certDir: string | undefined;
  readonly log: Logger;
}

/**
 * Gives a TLS server its certificate. When the files change, new connections get the new certificate.
 *
 * @throws ConfigurationError if the files cannot be used
 */
export async function useCertificate(server: Server, { certDir, log }: CertificateSource): Promise<void> {
  if (certDir === undefined) {
    server.setSecureContext(await selfSigned());
    return;
  }
  const files = new CertificateFiles(certDir);
  server.setSecureContext(readAtStart(files));
  // Before Node's own listener, which begins the handshake.
  server.prependListener('connection', () => renew(server, files, log));
}

/** @throws ConfigurationError */
function readAtStart(files: CertificateFiles): CertifiedKey {
  try {
    return files.read();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `cannot use the metrics certificate in ${files.dir}: ${why}; put tls.crt and tls.key there, or unset --metrics-cert-dir`,
      { cause: error },
    );
  }
}

/** A certificate that is invalid, or only half written, leaves the old one in place. */
function renew(server: Server, files: CertificateFiles, log: Logger): void {
  try {
    if (!files.haveChanged()) return;
    server.setSecureContext(files.read());
    log.info({ dir: files.dir }, 'using the new metrics certificate');
  } catch (err) {
    log.warn({ err, dir: files.dir }, 'cannot use the new metrics certificate: keeping the old one');
  }
}

/** Read synchronously, since a handshake waits for it; the files are small, and scrapes are few. */
class CertificateFiles {
  readonly dir: string;
  #lastRead = '';

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Since the last `read`, successful or not. */
  haveChanged(): boolean {
    return this.#fingerprint() !== this.#lastRead;
  }

  read(): CertifiedKey {
    this.#lastRead = this.#fingerprint();
    const [certFile, keyFile] = this.#paths;
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    createSecureContext(pair); // throws if they do not belong together
    return pair;
  }

  #fingerprint(): string {
    // A mounted Secret changes by a symbolic link to another directory: hence the inode.
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

/** It encrypts; only a certificate from an authority proves whom a client talks to. */
async function selfSigned(): Promise<CertifiedKey> {
  // Loaded only when needed: it takes a quarter of a second.
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
