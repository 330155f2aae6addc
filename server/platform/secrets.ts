import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** What the server's secret key is used for. Every use has a key of its own, derived by HKDF-SHA-256. */
export type Secrets = {
  /** HMAC-SHA-256 of a text; the same text gives the same 32 bytes on every process of the server. */
  hash(text: string): Buffer;
  /** HMAC-SHA-256 of a text of the activity log. Its key hashes nothing else: an address or a token that somebody has hashed by `hash` can never be a forged entry. */
  chain(text: string): Buffer;
  /** AES-256-GCM under a fresh data key that is itself wrapped under the server's key. `context` (table:row:field) is authenticated: the envelope opens nowhere else. */
  seal(plain: string, context: string): Buffer;
  /** Opens what `seal` made; throws when the envelope was changed, moved to another row or sealed under another server key. */
  open(envelope: Buffer, context: string): string;
  /** Ed25519 signature in base64. */
  sign(text: string): string;
  /** The Ed25519 public key, SPKI in base64, that checks signatures of `sign`. */
  public_key: string;
};

const envelope_version = 1;
const iv_bytes = 12;
const tag_bytes = 16;
const key_bytes = 32;
// PKCS #8 header of an Ed25519 private key; the 32 seed bytes follow (RFC 8410).
const ed25519_header = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Derives all keys from the server's secret. The same secret always gives the same keys. */
export function openSecrets(secretKey: string): Secrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secretKey, 'sluice', purpose, key_bytes));
  // A key object once: making one for every HMAC costs more than the HMAC.
  const hashKey = createSecretKey(derive('api key hash'));
  const chainKey = createSecretKey(derive('activity chain'));
  const wrapKey = derive('envelope');
  const signingKey = createPrivateKey({ key: Buffer.concat([ed25519_header, derive('receipt signature')]), format: 'der', type: 'pkcs8' });
  return {
    hash: (text) => createHmac('sha256', hashKey).update(text).digest(),
    chain: (text) => createHmac('sha256', chainKey).update(text).digest(),
    seal: (plain, context) => seal(wrapKey, plain, context),
    open: (envelope, context) => open(wrapKey, envelope, context),
    sign: (text) => sign(null, Buffer.from(text), signingKey).toString('base64'),
    public_key: createPublicKey(signingKey).export({ format: 'der', type: 'spki' }).toString('base64'),
  };
}

/** True when `signature` (base64) was made over `text` by the holder of the Ed25519 key `publicKey` (SPKI, base64). */
export function isSigned(text: string, signature: string, publicKey: string): boolean {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return false;
  }
  return key.asymmetricKeyType === 'ed25519' && verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
}

function seal(wrapKey: Buffer, plain: string, context: string): Buffer {
  const dataKey = randomBytes(key_bytes);
  return Buffer.concat([Buffer.from([envelope_version]), encrypt(wrapKey, dataKey, `key:${context}`), encrypt(dataKey, Buffer.from(plain, 'utf8'), context)]);
}

function open(wrapKey: Buffer, envelope: Buffer, context: string): string {
  if (envelope[0] !== envelope_version) throw new Error('The envelope has an unknown version.');
  const keyEnd = 1 + iv_bytes + tag_bytes + key_bytes;
  const dataKey = decrypt(wrapKey, envelope.subarray(1, keyEnd), `key:${context}`);
  return decrypt(dataKey, envelope.subarray(keyEnd), context).toString('utf8');
}

function encrypt(key: Buffer, plain: Buffer, context: string): Buffer {
  const iv = randomBytes(iv_bytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tag_bytes });
  cipher.setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

function decrypt(key: Buffer, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, iv_bytes), { authTagLength: tag_bytes });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(iv_bytes, iv_bytes + tag_bytes));
  return Buffer.concat([decipher.update(sealed.subarray(iv_bytes + tag_bytes)), decipher.final()]);
}
