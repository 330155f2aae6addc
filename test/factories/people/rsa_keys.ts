import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A pair of RSA keys, and the private one as PEM (PKCS #8). */
export type RsaKeys = {
  publicKey: KeyObject;
  privateKey: KeyObject;
  private_pem: string;
};

/**
 * RSA keys of 2,048 bits that the server knows. They are read from a file, because creating some
 * takes a tenth to half a second.
 */
export const own_keys = readKeys('saml_acme.key');
/** The keys of a stranger. */
export const other_keys = readKeys('saml_other.key');

function readKeys(name: string): RsaKeys {
  const privateKey = createPrivateKey(
    readFileSync(new URL(`../../certificates/${name}`, import.meta.url)),
  );
  return {
    publicKey: createPublicKey(privateKey),
    privateKey,
    private_pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
