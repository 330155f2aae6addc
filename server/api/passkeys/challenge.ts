import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { findBrowser } from '../../platform/http/caller/browser_mark.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { findRelyingParty } from './relying_party.ts';
import type { RelyingParty } from './relying_party.ts';
import { challengeIn } from './verify.ts';
import type { Refused } from './verify.ts';

/** The purpose of a challenge, and its browser. */
export type Bound = {
  purpose: 'create' | 'show';
  /** The person who creates a passkey; null if a passkey will identify the person. */
  user_id: number | null;
  browser: Buffer;
};

/** Lifetime of a challenge: 5 minutes. */
export const challenge_lifetime_ms = 300_000;

const expiry_bytes = 8;
const random_bytes = 16;

/**
 * Creates a challenge: its expiry, 128 random bits, and the HMAC of both with its purpose. So any
 * process can verify it, and nothing is stored before it is answered.
 */
export function createChallenge(secrets: Secrets, now_ms: number, bound: Bound): string {
  const head = Buffer.alloc(expiry_bytes + random_bytes);
  head.writeBigUInt64BE(BigInt(now_ms + challenge_lifetime_ms));
  randomBytes(random_bytes).copy(head, expiry_bytes);
  return Buffer.concat([head, sealOf(secrets, head, bound)]).toString('base64url');
}

/**
 * Uses up the challenge that the browser answered, and returns it with the relying party; of
 * several answers at once, one succeeds.
 */
export async function useChallenge(
  tx: Transaction,
  { secrets, clock, config }: Pick<Deps, 'secrets' | 'clock' | 'config'>,
  request: FastifyRequest,
  bound: Omit<Bound, 'browser'>,
  response: { clientDataJSON: string },
): Promise<{ party: RelyingParty; challenge: string } | Refused> {
  const party = findRelyingParty(config.public_url);
  if (party === undefined) return { refused: 'the address of the server supports no passkeys' };
  const browser = findBrowser(request);
  if (browser === undefined) return { refused: 'this browser has no challenge' };
  const challenge = challengeIn(response);
  if (challenge === undefined) return { refused: 'it answers no challenge of this server' };
  const expires_at_ms = expiryOf(secrets, clock.now(), { ...bound, browser }, challenge);
  if (expires_at_ms === undefined)
    return { refused: 'its challenge expired, or belongs to another browser' };
  const used = await tx.run(sql`
    INSERT INTO passkey_challenges (challenge_hash, expires_at)
    VALUES (${secrets.hash(`used passkey challenge ${challenge}`)},
      ${isoInstant(expires_at_ms)}::timestamptz)
    ON CONFLICT (challenge_hash) DO NOTHING`);
  return used === 1 ? { party, challenge } : { refused: 'its challenge was used before' };
}

/**
 * Returns when the challenge expires (ms); undefined if it has expired, or if `createChallenge` did
 * not create it for this purpose.
 */
function expiryOf(
  secrets: Secrets,
  now_ms: number,
  bound: Bound,
  challenge: string,
): number | undefined {
  const bytes = Buffer.from(challenge, 'base64url');
  const [head, seal] = [
    bytes.subarray(0, expiry_bytes + random_bytes),
    bytes.subarray(expiry_bytes + random_bytes),
  ];
  if (head.length < expiry_bytes + random_bytes) return undefined;
  const wanted = sealOf(secrets, head, bound);
  if (seal.length !== wanted.length || !timingSafeEqual(seal, wanted)) return undefined;
  const expires_at_ms = Number(head.readBigUInt64BE());
  return expires_at_ms > now_ms ? expires_at_ms : undefined;
}

function sealOf(secrets: Secrets, head: Buffer, { purpose, user_id, browser }: Bound): Buffer {
  const parts = [purpose, user_id ?? '', browser.toString('hex'), head.toString('hex')];
  return secrets.hash(`passkey challenge ${parts.join(' ')}`);
}
