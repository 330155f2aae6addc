import { verify } from 'node:crypto';
import type { KeyLike } from 'node:crypto';

/** A Google service account, and its address for tokens. */
type Account = { public_key: KeyLike; client_email: string; token_url: string };

/** Returns true if the form requests a token for the account's scopes, with a JWT of its key. */
export function isGrant(form: URLSearchParams, account: Account, scopes: RegExp): boolean {
  const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const isSigned = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${claims}`),
    account.public_key,
    Buffer.from(signature, 'base64url'),
  );
  const { iss, aud, exp, scope } = JSON.parse(
    Buffer.from(claims, 'base64url').toString() || '{}',
  ) as Record<string, unknown>;
  return (
    isSigned &&
    form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
    iss === account.client_email &&
    aud === account.token_url &&
    Number(exp) * 1000 > Date.now() &&
    scopes.test(String(scope))
  );
}
