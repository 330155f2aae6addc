import type { Secrets } from '../../secrets/secrets.ts';
import type { Credential } from './access.ts';

const prefix = 'slt_';
const context = 'exchanged_token';
const longest = 1_000;

/**
 * Creates a token that stands for a key until `expires_at_ms`: the key's sealed hash. It is looked
 * up like the key, so it has the key's current rights, and ends with it.
 */
export function createExchangedToken(
  secrets: Pick<Secrets, 'seal'>,
  { kind, hash }: Credential,
  expires_at_ms: number,
): string {
  const said = JSON.stringify([kind, hash.toString('base64'), expires_at_ms]);
  return prefix + secrets.seal(said, context).toString('base64url');
}

/** Returns true for text with the prefix of an exchanged token. */
export function isExchangedToken(text: string): boolean {
  return text.startsWith(prefix);
}

/** Returns the key behind the token; undefined for one that has expired or is not ours. */
export function openExchangedToken(
  secrets: Pick<Secrets, 'open'>,
  token: string,
  now_ms: number,
): Credential | undefined {
  if (!isExchangedToken(token) || token.length > longest) return undefined;
  let said: [Credential['kind'], string, number];
  try {
    const sealed = Buffer.from(token.slice(prefix.length), 'base64url');
    said = JSON.parse(secrets.open(sealed, context)) as typeof said;
  } catch {
    return undefined;
  }
  const [kind, hash, expires_at_ms] = said;
  return expires_at_ms <= now_ms ? undefined : { kind, hash: Buffer.from(hash, 'base64') };
}
