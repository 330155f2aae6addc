import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { isoInstant } from '../../clock.ts';
import type { HttpContext } from '../context.ts';
import type { SecurityWord } from '../security_log/words.ts';
import { isPerson } from './access.ts';
import type { Credential, Found } from './access.ts';
import { maskApiKey } from './api_key.ts';
import { isWriteKey } from './write_key.ts';

/** The credential of a request; `hash` is that of the key behind an exchanged token. */
export type Shown = {
  kind: Credential['kind'];
  text: string;
  isWellFormed: boolean;
  hash?: Buffer;
};

/**
 * Returns the event and the reason of a refused key or session for the security log. It stores the
 * owner, if known, in `request.concerned`; the caller never learns it. `found` is an existing
 * session that is no longer accepted. Undefined for an assistant's expired token: the assistant
 * requests the next one.
 */
export async function judgeRefused(
  context: Pick<HttpContext, 'db' | 'secrets' | 'clock'>,
  request: FastifyRequest,
  { kind, text, isWellFormed }: Shown,
  found: Found | undefined,
): Promise<[SecurityWord, string] | undefined> {
  if (found !== undefined && isPerson(found)) {
    const { user_id: id, user_uuid: uuid, email } = found;
    request.concerned = { person: { id, uuid, email } };
    return found.is_previous_token
      ? ['session_token_reused', 'replaced']
      : ['session_refused', 'over'];
  }
  if (kind === 'session') return ['session_refused', isWellFormed ? 'ended' : 'malformed'];
  if (!isWellFormed) return ['key_refused', isWriteKey(text) ? 'write_key' : 'malformed'];
  const judge = kind === 'service_key' ? judgeServiceKey : judgeKey;
  const reason = await judge(context, request, text);
  return reason === 'token_expired' ? undefined : ['key_refused', reason];
}

type RefusedKey = {
  id: number;
  uuid: string;
  email: string;
  is_expired: boolean;
  is_token: boolean;
  organizations: string[] | null;
};

/** Returns why a well-formed key is refused. A revoked one is gone and so unknown. */
async function judgeKey(
  { db, secrets, clock }: Pick<HttpContext, 'db' | 'secrets' | 'clock'>,
  request: FastifyRequest,
  key: string,
): Promise<'unknown' | 'expired' | 'token_expired' | 'person_inactive'> {
  const key_mask = maskApiKey(key);
  request.concerned = { key_mask };
  const known = await db.row<RefusedKey>(sql`
    SELECT u.id, u.uuid, u.email,
      coalesce(k.expires_at <= ${isoInstant(clock.now())}::timestamptz, false) AS is_expired,
      k.resource IS NOT NULL AND u.is_active AS is_token,
      CASE WHEN k.scoped_organizations IS NOT NULL OR k.scoped_teams IS NOT NULL THEN
        coalesce(k.scoped_organizations, '{}') || ARRAY(SELECT p.organization_id FROM projects p
          WHERE p.id = ANY (k.scoped_teams)) END AS organizations
    FROM personal_api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.key_hash = ${secrets.hash(key)}`);
  if (known === undefined) return 'unknown';
  const { id, uuid, email, is_expired, is_token, organizations } = known;
  request.concerned = { key_mask, person: { id, uuid, email }, organizations };
  if (is_expired) return 'expired';
  return is_token ? 'token_expired' : 'person_inactive';
}

/** Does the same as `judgeKey` for a service key, whose organization is told. */
async function judgeServiceKey(
  { db, secrets }: Pick<HttpContext, 'db' | 'secrets' | 'clock'>,
  request: FastifyRequest,
  key: string,
): Promise<'unknown' | 'expired'> {
  const key_mask = maskApiKey(key);
  const known = await db.row<{ organization_id: string }>(
    sql`SELECT organization_id FROM service_keys WHERE key_hash = ${secrets.hash(key)}`,
  );
  request.concerned = { key_mask, organization_id: known?.organization_id };
  return known === undefined ? 'unknown' : 'expired';
}
