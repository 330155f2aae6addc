import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A key of releases: P-256, which cosign, OpenSSL and in-toto all check. */
export type ReleaseKey = {
  /** The SHA-256 of the public half, in hexadecimal digits. */
  id: string;
  /** The public half, in PEM. */
  public_pem: string;
  /** The signature by ECDSA with SHA-256, in base64. */
  sign(bytes: Buffer): string;
};

/** Reads the private key of a PEM file. */
export function readReleaseKey(path: string): ReleaseKey {
  return releaseKey(createPrivateKey(readFileSync(path)));
}

/** Wraps a private key. Throws for a key of another kind. */
export function releaseKey(key: KeyObject): ReleaseKey {
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error(
      'The key of a release is one of P-256 (docs/releasing.md says how to create it).',
    );
  const open = createPublicKey(key);
  return {
    id: createHash('sha256')
      .update(open.export({ type: 'spki', format: 'der' }))
      .digest('hex'),
    public_pem: open.export({ type: 'spki', format: 'pem' }) as string,
    sign: (bytes) => sign('sha256', bytes, key).toString('base64'),
  };
}
