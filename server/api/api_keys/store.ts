import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { makeApiKey, maskApiKey } from '../../platform/http/api_key.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets.ts';

/** What is set when a key is made; limits that are left out or empty do not limit. */
export type ApiKeyFields = {
  user_id: number;
  label: string;
  scopes: string[];
  scoped_organizations?: string[] | null;
  scoped_teams?: number[] | null;
  expires_at?: string | null;
};

/** A key as lists show it; the key itself is not kept. */
export type ApiKeyRow = {
  id: string;
  label: string;
  mask_value: string;
  scopes: string[];
  scoped_organizations: string[] | null;
  scoped_teams: number[] | null;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string;
};

const columns = sql`id, label, mask_value, scopes, scoped_organizations, scoped_teams, expires_at, last_used_at, created_at`;

/** Stores the HMAC of a key (a new one unless `value` is given) and gives the row with the key in `value`: the only time that it can be shown. */
export async function insertApiKey(
  db: Queryable,
  secrets: Secrets,
  fields: ApiKeyFields,
  value: string = makeApiKey(),
): Promise<ApiKeyRow & { value: string }> {
  const [row] = await db.rows<ApiKeyRow>(sql`
    INSERT INTO personal_api_keys (id, user_id, label, key_hash, mask_value, scopes, scoped_organizations, scoped_teams, expires_at)
    VALUES (${uuidv7()}, ${fields.user_id}, ${fields.label}, ${secrets.hash(value)}, ${maskApiKey(value)}, ${fields.scopes},
      ${limitOf(fields.scoped_organizations)}::uuid[], ${limitOf(fields.scoped_teams)}::integer[], ${fields.expires_at ?? null}::timestamptz)
    RETURNING ${columns}`);
  return { ...row!, value };
}

function limitOf<Value>(values: Value[] | null | undefined): Value[] | null {
  return values === undefined || values === null || values.length === 0 ? null : values;
}
