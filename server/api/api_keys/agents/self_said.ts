import { timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

/** Returns a token that contains a text, and that only this server can create. */
export function selfSaid(secrets: Pick<Secrets, 'hash'>, prefix: string, text: string): string {
  const said = prefix + Buffer.from(text).toString('base64url');
  return `${said}.${proofOf(secrets, said).toString('base64url')}`;
}

/**
 * Returns the text of such a token; undefined if this server did not create it. Its key stays the
 * same after a change of the secret key.
 */
export function openSelfSaid(
  secrets: Pick<Secrets, 'hash'>,
  prefix: string,
  word: string,
): string | undefined {
  const [said = '', proof = '', ...more] = word.split('.');
  const given = Buffer.from(proof, 'base64url');
  const right = proofOf(secrets, said);
  if (!said.startsWith(prefix) || more.length > 0 || given.length !== right.length)
    return undefined;
  return timingSafeEqual(given, right)
    ? Buffer.from(said.slice(prefix.length), 'base64url').toString('utf8')
    : undefined;
}

/** The prefix separates these texts from everything else that the key hashes. */
function proofOf(secrets: Pick<Secrets, 'hash'>, said: string): Buffer {
  return secrets.hash(`word of an assistant: ${said}`);
}
