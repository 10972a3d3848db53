import { generateKeyPairSync, sign } from 'node:crypto';

export interface CertifiedKey {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

/** A certificate for 127.0.0.1 and localhost that is its own authority, made anew: no key lies in the repository. */
export function aSelfSignedCertificate(commonName: string): CertifiedKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const tbs = toBeSigned(commonName, publicKey.export({ type: 'spki', format: 'der' }));
  const signature = bitString(sign('sha256', tbs, privateKey));
  const der = sequence(tbs, ECDSA_WITH_SHA256, signature);
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** DER, as RFC 5280 has it: tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), body]);
}

const sequence = (...content: Buffer[]): Buffer => der(0x30, ...content);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const integer = (value: number): Buffer => der(0x02, Buffer.of(value));
const bitString = (bytes: Buffer): Buffer => der(0x03, Buffer.of(0), bytes);
const octetString = (bytes: Buffer): Buffer => der(0x04, bytes);
const utcTime = (time: string): Buffer => der(0x17, Buffer.from(time));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));

function toBeSigned(commonName: string, publicKeyInfo: Buffer): Buffer {
  const version3 = der(0xa0, integer(2));
  const serial = der(0x02, Buffer.from(commonName).subarray(0, 16));
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));
  const validity = sequence(utcTime('250101000000Z'), utcTime('490101000000Z'));
  const extensions = der(0xa3, sequence(isAuthority(), loopbackNames()));
  return sequence(version3, serial, ECDSA_WITH_SHA256, name, validity, name, publicKeyInfo, extensions);
}

function isAuthority(): Buffer {
  const yes = der(0x01, Buffer.of(0xff));
  return sequence(oid('551d13'), yes, octetString(sequence(yes)));
}

function loopbackNames(): Buffer {
  const address = der(0x87, Buffer.of(127, 0, 0, 1));
  const hostName = der(0x82, Buffer.from('localhost'));
  return sequence(oid('551d11'), octetString(sequence(hostName, address)));
}
