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

/** Uses of the server's secret key and of its own keys. Every use has its own key. */
export type Secrets = {
  /**
   * Returns the HMAC-SHA-256 of a text; the same text gives the same 32 bytes in every process of
   * the server.
   */
  hash(text: string): Buffer;
  /**
   * Returns the HMAC-SHA-256 of a text of the activity log. Its key hashes nothing else: an address
   * or a token hashed by `hash` can never be a forged entry.
   */
  chain(text: string): Buffer;
  /**
   * Seals with AES-256-GCM under a new data key, which the server's key wraps. `context`
   * (table:row:field) is authenticated: the envelope opens nowhere else.
   */
  seal(plain: string, context: string): Buffer;
  /**
   * Opens an envelope of `seal` under any of the secret keys; throws if the envelope was changed,
   * moved to another row or sealed under another key.
   */
  open(envelope: Buffer, context: string): string;
  /**
   * Returns the envelope with its data key wrapped under the present secret key and its content
   * untouched; undefined if it already is. Throws like `open` without the key.
   */
  rewrap(envelope: Buffer, context: string): Buffer | undefined;
  /** Returns an Ed25519 signature in base64. */
  sign(text: string): string;
  /** The Ed25519 public key, SPKI in base64, that checks signatures of `sign`. */
  public_key: string;
};

const envelope_version = 1;
const iv_bytes = 12;
const tag_bytes = 16;
const key_bytes = 32;
// Version, and the wrapped data key; the content follows.
const header_bytes = 1 + iv_bytes + tag_bytes + key_bytes;
// PKCS #8 header of an Ed25519 private key; the 32 seed bytes follow (RFC 8410).
const ed25519_header = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The accepted secret keys, the present one first, which seals. */
export type SecretKeys = readonly [string, ...string[]];

/**
 * The keys for hashes, the activity log and receipts: 32 bytes each. They survive a rotation of the
 * secret key.
 */
export type OwnKeys = { hash: Buffer; chain: Buffer; signature: Buffer };

/**
 * Returns the own keys of a server that has had this secret key from its beginning. The same secret
 * always gives the same keys.
 */
export function ownKeysOf(secretKey: string): OwnKeys {
  return {
    hash: derive(secretKey, 'api key hash'),
    chain: derive(secretKey, 'activity chain'),
    signature: derive(secretKey, 'receipt signature'),
  };
}

/**
 * Opens the uses of the keys. `secretKeys` is called again before each seal and after a failed
 * opening, so that a rotated key is used without a restart.
 */
export function openSecrets(secretKeys: string | (() => SecretKeys), given?: OwnKeys): Secrets {
  const keysNow = typeof secretKeys === 'string' ? (): SecretKeys => [secretKeys] : secretKeys;
  const own = given ?? ownKeysOf(keysNow()[0]);
  // Created once: a key object for every HMAC costs more than the HMAC.
  const hashKey = createSecretKey(own.hash);
  const chainKey = createSecretKey(own.chain);
  const signingKey = createPrivateKey({
    key: Buffer.concat([ed25519_header, own.signature]),
    format: 'der',
    type: 'pkcs8',
  });
  const wrapping = openWrapping(keysNow);
  return {
    hash: (text) => createHmac('sha256', hashKey).update(text).digest(),
    chain: (text) => createHmac('sha256', chainKey).update(text).digest(),
    ...wrapping,
    sign: (text) => sign(null, Buffer.from(text), signingKey).toString('base64'),
    public_key: createPublicKey(signingKey)
      .export({ format: 'der', type: 'spki' })
      .toString('base64'),
  };
}

/**
 * Returns true if the holder of the Ed25519 key `publicKey` (SPKI, base64) made `signature`
 * (base64) over `text`.
 */
export function isSigned(text: string, signature: string, publicKey: string): boolean {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return false;
  }
  return (
    key.asymmetricKeyType === 'ed25519' &&
    verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
  );
}

function derive(secretKey: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'sluice', purpose, key_bytes));
}

function openWrapping(keysNow: () => SecretKeys): Pick<Secrets, 'seal' | 'open' | 'rewrap'> {
  const derived = new Map<string, Buffer>();
  const wrapKeyOf = (secretKey: string): Buffer => {
    const key = derived.get(secretKey) ?? derive(secretKey, 'envelope');
    derived.set(secretKey, key);
    return key;
  };
  let known = keysNow();
  const present = () => {
    known = keysNow();
    return wrapKeyOf(known[0]);
  };
  const unwrap = (envelope: Buffer, context: string): Buffer => {
    const attempt = () =>
      known
        .map((key) => unwrapped(wrapKeyOf(key), envelope, context))
        .find((dataKey) => dataKey !== undefined);
    const found = attempt();
    if (found !== undefined) return found;
    known = keysNow();
    const dataKey = attempt();
    if (dataKey === undefined)
      throw new Error('The envelope was changed or sealed under another secret key.');
    return dataKey;
  };
  const wrapped = (dataKey: Buffer, context: string) =>
    Buffer.concat([Buffer.from([envelope_version]), encrypt(present(), dataKey, `key:${context}`)]);
  return {
    seal: (plain, context) => {
      const dataKey = randomBytes(key_bytes);
      return Buffer.concat([
        wrapped(dataKey, context),
        encrypt(dataKey, Buffer.from(plain, 'utf8'), context),
      ]);
    },
    open: (envelope, context) =>
      decrypt(unwrap(envelope, context), envelope.subarray(header_bytes), context).toString('utf8'),
    rewrap: (envelope, context) => {
      if (unwrapped(present(), envelope, context) !== undefined) return undefined;
      return Buffer.concat([
        wrapped(unwrap(envelope, context), context),
        envelope.subarray(header_bytes),
      ]);
    },
  };
}

/** Returns the data key of an envelope, or undefined if another key wraps it. */
function unwrapped(wrapKey: Buffer, envelope: Buffer, context: string): Buffer | undefined {
  if (envelope[0] !== envelope_version) throw new Error('The envelope has an unknown version.');
  try {
    return decrypt(wrapKey, envelope.subarray(1, header_bytes), `key:${context}`);
  } catch {
    return undefined;
  }
}

// A key object makes the cipher twice as fast as a buffer.
function encrypt(key: Buffer, plain: Buffer, context: string): Buffer {
  const iv = randomBytes(iv_bytes);
  const cipher = createCipheriv('aes-256-gcm', createSecretKey(key), iv, {
    authTagLength: tag_bytes,
  });
  cipher.setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

function decrypt(key: Buffer, sealed: Buffer, context: string): Buffer {
  const iv = sealed.subarray(0, iv_bytes);
  const decipher = createDecipheriv('aes-256-gcm', createSecretKey(key), iv, {
    authTagLength: tag_bytes,
  });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(iv_bytes, iv_bytes + tag_bytes));
  return Buffer.concat([decipher.update(sealed.subarray(iv_bytes + tag_bytes)), decipher.final()]);
}
