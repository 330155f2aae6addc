import { createPrivateKey } from 'node:crypto';

/** Returns true for a complete RSA key in PEM, as service accounts have. */
export function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
