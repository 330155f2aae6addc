import sql, { empty, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isDatabaseError } from '../../postgres/database.ts';
import type { Database } from '../../postgres/database.ts';

/** Who asks, as the key or the session says; one of `key_id` and `session_id` is set. */
export type Caller = {
  user_id: number;
  user_uuid: string;
  email: string;
  /** Has the user set up a second factor? Without one, organizations that enforce it are closed. */
  has_second_factor: boolean;
  key_id: string | null;
  key_mask: string | null;
  session_id: string | null;
  /** A session has all scopes. */
  scopes: string[];
  /** Only these organizations may be seen with the key; null: all of the user's. */
  scoped_organizations: string[] | null;
  /**
   * Only these projects, and nothing of their organizations beside them, may be seen with the key;
   * null: no such limit.
   */
  scoped_teams: number[] | null;
};

/**
 * What the path leads into: the organization, the caller's level there, and the project when the
 * path names one.
 */
export type Access = {
  organization_id: string;
  level: 1 | 8 | 15;
  team_id?: number;
  timezone?: string;
};

/** What kind of thing a route lies in. */
export type Within = 'organization' | 'project';

/** What a record's statement may name of the look-up that it is a part of. */
export type RecordPlace = {
  organization_id: Sql;
  /** The caller's level there. */
  level: Sql;
  team_id: Sql;
  /** What `:id` says, where the path has another parameter for the target; null when no UUID. */
  id: Sql;
};

/**
 * Selects the one record that a GET answers, with its `id`, from the place where the caller may be.
 */
export type RecordSelect = (place: RecordPlace) => Sql;

/**
 * The thing that one request's path names; undefined when the name cannot be one (then nothing is
 * looked up). `record` is read in the same statement, of the route `url`.
 */
export type Target =
  | {
      within: Within;
      id: string;
      record?: { url: string; select: RecordSelect; id: string | null } | undefined;
    }
  | undefined;

/**
 * What a request shows to say who it is: a personal API key, or the token of a session's cookie;
 * both as their HMAC.
 */
export type Credential = { kind: 'key' | 'session'; hash: Buffer };

/** One row of the look-up: the credential, its user and, when the user may be there, the target. */
export type Found = Caller & {
  last_used_at: string | null;
  /** Of a session: when its token was made, and whether the request showed the one before it. */
  token_created_at: string | null;
  is_previous_token: boolean;
  organization_id: string | null;
  level: 1 | 8 | 15 | null;
  /** When the user was last seen in the target's organization. */
  last_seen_at: string | null;
  enforce_2fa: boolean | null;
  team_id: number | null;
  timezone: string | null;
  /** The record of the route, when it was asked for and is there. */
  record: unknown;
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const integer_max = 2_147_483_647;

/** True for text that PostgreSQL takes as a UUID in the usual spelling. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** The positive 32-bit integer that the text spells, or undefined. */
function integerId(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= integer_max ? id : undefined;
}

/**
 * What a path's parameter names: a UUID for organizations, an integer for projects, or `@current`.
 */
export function targetOf(within: Within | undefined, name: string): Target {
  if (within === undefined) return undefined;
  const possible =
    name === '@current' ||
    (within === 'organization' ? isUuid(name) : integerId(name) !== undefined);
  return possible ? { within, id: name } : undefined;
}

/** Finds what credentials give access to. */
export type AccessFinder = (
  credential: Credential,
  target: Target,
  now: string,
) => Promise<Found | undefined>;

type Asked = {
  credential: Credential;
  target: Target;
  now: string;
  answer(found: Found | undefined): void;
  fail(error: unknown): void;
};

/** So many go together at most: what the record of one takes, the others wait for. */
const batch_max = 32;

/**
 * Opens the look-up of credential, user, membership and target, and of the record that a route
 * reads there: one statement for a request, and one for all requests of a kind that arrive in the
 * same turn of the event loop. Undefined: no such key or session, or it has expired, or its user is
 * not active. The target's columns are null when it does not exist, the user is not a member of its
 * organization, or the key is limited to others; the three cannot be told apart. Nothing is
 * remembered, so a change counts on the next request. Where a statement for several fails in the
 * store, each is asked for by itself.
 */
export function openAccessFinder(db: Database): AccessFinder {
  const waiting = new Map<string, Asked[]>();
  const ask = async (batch: Asked[]): Promise<void> => {
    try {
      const found = await findAll(db, batch);
      batch.forEach((one, at) => one.answer(found.get(at + 1)));
    } catch (error) {
      if (batch.length > 1 && isDatabaseError(error)) for (const one of batch) void ask([one]);
      else for (const one of batch) one.fail(error);
    }
  };
  const askAll = (kind: string) => {
    const batch = waiting.get(kind) ?? [];
    waiting.delete(kind);
    for (let at = 0; at < batch.length; at += batch_max) void ask(batch.slice(at, at + batch_max));
  };
  return (credential, target, now) =>
    new Promise((answer, fail) => {
      const kind = `${credential.kind} ${kindOf(target)} ${target?.record?.url ?? ''}`;
      const asked = { credential, target, now, answer, fail };
      const batch = waiting.get(kind);
      if (batch !== undefined) return void batch.push(asked);
      waiting.set(kind, [asked]);
      // Runs when every request that has already arrived has been read.
      setImmediate(askAll, kind);
    });
}

/** What was found, by the number in the batch; all of it are of one kind. */
async function findAll(db: Database, batch: Asked[]): Promise<Map<number, Found>> {
  const rows = await db.rows<Record<string, unknown>>(accessSql(batch));
  return new Map(
    rows.map((row) => {
      const found: Record<string, unknown> = {};
      const record: Record<string, unknown> = {};
      for (const name in row)
        if (name.startsWith(found_prefix)) found[name.slice(found_prefix.length)] = row[name];
        else record[name] = row[name];
      found['record'] = (record['id'] ?? null) === null ? undefined : record;
      return [found['number'] as number, found as Found];
    }),
  );
}

type Kind = 'none' | 'organization' | 'organization @current' | 'project' | 'project @current';

function kindOf(target: Target): Kind {
  if (target === undefined) return 'none';
  return target.id === '@current' ? `${target.within} @current` : target.within;
}

/** Keeps rows of `m` (members) that the credential `k` is not limited away from. */
const organization_allowed =
  'm.user_id = k.user_id AND (k.scoped_organizations IS NULL OR m.organization_id = ANY ' +
  '(k.scoped_organizations))';
const in_organization = `SELECT m.organization_id, m.level, m.last_seen_at, o.enforce_2fa,
  NULL::integer AS team_id, NULL::text AS timezone FROM members m
  JOIN organizations o ON o.id = m.organization_id WHERE k.scoped_teams IS NULL
    AND ${organization_allowed}`;
const in_project = `SELECT m.organization_id, m.level, m.last_seen_at, o.enforce_2fa,
  p.id AS team_id, p.timezone
  FROM projects p JOIN members m ON m.organization_id = p.organization_id
  JOIN organizations o ON o.id = m.organization_id WHERE (k.scoped_teams IS NULL
    OR p.id = ANY (k.scoped_teams)) AND ${organization_allowed}`;

/**
 * How each kind of target is found beside credential `k`; the caller's oldest membership and its
 * oldest project are the current ones.
 */
const targets: Record<Kind, string> = {
  none: '',
  organization: `${in_organization} AND m.organization_id = asked.id::uuid`,
  'organization @current': `${in_organization} ORDER BY m.joined_at, m.id LIMIT 1`,
  project: `${in_project} AND p.id = asked.id::integer`,
  'project @current': `${in_project} ORDER BY m.joined_at, m.id, p.created_at, p.id LIMIT 1`,
};

/** What the columns of the look-up begin with: the others are the record's. */
const found_prefix = 'found_';
const named = (columns: Record<string, string>) =>
  Object.entries(columns)
    .map(([name, from]) => `${from} AS ${found_prefix}${name}`)
    .join(', ');

const session_columns =
  "s.id, s.user_id, s.expires_at, s.last_used_at, ARRAY['*'] AS scopes, NULL::uuid[] AS " +
  'scoped_organizations, NULL::integer[] AS scoped_teams, s.token_created_at';

/** Where credential `k` of a hash comes from. */
const sources: Record<Credential['kind'], { columns: Record<string, string>; join: string }> = {
  key: {
    columns: {
      key_id: 'k.id',
      key_mask: 'k.mask_value',
      session_id: 'NULL::uuid',
      token_created_at: 'NULL::timestamptz',
      is_previous_token: 'false',
    },
    join: 'JOIN personal_api_keys k ON k.key_hash = asked.hash',
  },
  session: {
    columns: {
      key_id: 'NULL::uuid',
      key_mask: 'NULL::text',
      session_id: 'k.id',
      token_created_at: 'k.token_created_at',
      is_previous_token: 'k.is_previous_token',
    },
    join: `JOIN LATERAL (
      SELECT ${session_columns}, false AS is_previous_token FROM sessions s
        WHERE s.token_hash = asked.hash UNION ALL
      SELECT ${session_columns}, true AS is_previous_token FROM sessions s
        WHERE s.previous_token_hash = asked.hash) k ON true`,
  },
};
const of_caller = {
  number: 'asked.number',
  scopes: 'k.scopes',
  scoped_organizations: 'k.scoped_organizations',
  scoped_teams: 'k.scoped_teams',
  last_used_at: 'k.last_used_at',
  user_id: 'u.id',
  user_uuid: 'u.uuid',
  email: 'u.email',
  has_second_factor: 'u.totp_confirmed_at IS NOT NULL',
};
const of_target = Object.fromEntries(
  ['organization_id', 'level', 'last_seen_at', 'enforce_2fa', 'team_id', 'timezone'].map((name) => [
    name,
    `target.${name}`,
  ]),
);
const place: RecordPlace = {
  organization_id: raw('target.organization_id'),
  level: raw('target.level'),
  team_id: raw('target.team_id'),
  id: raw('asked.record_id'),
};

/** Leans on the unique indexes of the hashes and of members (user_id, organization_id). */
function accessSql(batch: Asked[]): Sql {
  const [{ credential, target, now }] = batch as [Asked];
  const source = sources[credential.kind];
  const kind = kindOf(target);
  const columns = { ...of_caller, ...source.columns, ...(kind === 'none' ? {} : of_target) };
  const record = target?.record?.select(place);
  const ids = batch.map((one) => (one.target?.id === '@current' ? null : (one.target?.id ?? null)));
  return sql`
    SELECT ${raw(named(columns))}${record === undefined ? empty : raw(', record.*')}
    FROM unnest(${batch.map((one) => one.credential.hash)}::bytea[], ${ids}::text[],
      ${batch.map((one) => one.target?.record?.id ?? null)}::uuid[]) WITH ORDINALITY
        AS asked (hash, id, record_id, number)
    ${raw(source.join)} JOIN users u ON u.id = k.user_id AND u.is_active
    ${kind === 'none' ? empty : raw(`LEFT JOIN LATERAL (${targets[kind]}) target ON true`)}
    ${record === undefined ? empty : sql`LEFT JOIN LATERAL (${record}) record ON true`}
    WHERE k.expires_at IS NULL OR k.expires_at > ${now}::timestamptz`;
}
