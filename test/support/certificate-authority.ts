import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;

/** PEM. */
interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

interface HostName {
  readonly type: 'dns' | 'ip';
  readonly value: string;
}

/** It and what it issues live in memory alone. */
export interface CertificateAuthority {
  /** PEM. */
  readonly cert: string;
  /** To serve or to call. @param name of the host. Default: localhost */
  issue(commonName: string, name?: HostName): Promise<CertifiedKey>;
}

/** Strict verifiers, such as Temporal's, do not take a certificate that is its own authority. */
export async function aCertificateAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await aKeyPair();
  const authority = { name: `CN=${commonName}`, keys };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...authority,
    ...validNow(),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    cert: certificate.toString('pem'),
    async issue(subject, name = { type: 'dns', value: 'localhost' }) {
      const own = await aKeyPair();
      const issued = await X509CertificateGenerator.create({
        subject: `CN=${subject}`,
        issuer: certificate.subject,
        signingKey: keys.privateKey,
        publicKey: own.publicKey,
        ...validNow(),
        extensions: [new SubjectAlternativeNameExtension([name])],
      });
      const key = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
      return { cert: issued.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
    },
  };
}

function aKeyPair() {
  return webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
}

function validNow() {
  const now = Date.now();
  return {
    signingAlgorithm: ECDSA,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + DAY_MS),
  };
}
