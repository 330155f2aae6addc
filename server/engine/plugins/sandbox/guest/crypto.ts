import { compute } from './bridge.ts';
import { fromBinary, toBinary } from './bytes.ts';
import type { Buffer, BytesLike } from './bytes.ts';

type Digest = {
  update(data: BytesLike): Digest;
  digest(): Buffer;
  digest(encoding: 'hex' | 'base64' | 'base64url'): string;
};

function digestWith(name: string, algorithm: string, key: string): Digest {
  let data = '';
  const finish = (encoding?: 'hex' | 'base64' | 'base64url'): Buffer | string => {
    const bytes = fromBinary(compute(name, algorithm, data, key));
    return encoding === undefined ? bytes : bytes.toString(encoding);
  };
  const digest: Digest = {
    update: (part) => {
      data += toBinary(part);
      return digest;
    },
    digest: finish as Digest['digest'],
  };
  return digest;
}

/**
 * The part of Node's `crypto` for plugins: hashes, HMAC, random values, comparison in constant
 * time.
 */
export const crypto = {
  createHash: (algorithm: unknown): Digest => digestWith('hash', String(algorithm), ''),
  createHmac: (algorithm: unknown, key: BytesLike): Digest =>
    digestWith('hmac', String(algorithm), toBinary(key)),
  randomBytes: (length: number): Buffer => fromBinary(compute('random_bytes', String(length))),
  randomUUID: (): string => compute('random_uuid', ''),
  getRandomValues: <Target extends Uint8Array>(target: Target): Target => {
    target.set(crypto.randomBytes(target.length));
    return target;
  },
  timingSafeEqual: (one: ArrayBufferView, other: ArrayBufferView): boolean =>
    compute('is_equal', toBinary(one), toBinary(other)) === 'true',
};
