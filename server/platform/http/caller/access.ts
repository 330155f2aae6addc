import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
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

/**
 * The thing that one request's path names; undefined when the name cannot be one (then nothing is
 * looked up).
 */
export type Target = { within: Within; id: string } | undefined;

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
  hash: Buffer;
  id: string | null;
  answer(found: Found | undefined): void;
  fail(error: unknown): void;
};

/**
 * Opens the look-up of credential, user, membership and target: one statement for a request, and
 * one for all requests of a kind that arrive in the same turn of the event loop. Undefined: no such
 * key or session, or it has expired, or its user is not active. The target's columns are null when
 * it does not exist, the user is not a member of its organization, or the key is limited to others;
 * the three cannot be told apart. Nothing is remembered, so a change counts on the next request.
 */
export function openAccessFinder(db: Database): AccessFinder {
  const waiting = new Map<string, Asked[]>();
  const ask = async (credential: Credential['kind'], kind: Kind, now: string) => {
    const batch = waiting.get(`${credential} ${kind}`) ?? [];
    waiting.delete(`${credential} ${kind}`);
    try {
      const rows = await db.rows<Found & { number: number }>(
        accessSql(credential, kind, batch, now),
      );
      const found = new Map(rows.map(({ number, ...row }) => [number, row]));
      batch.forEach((one, at) => one.answer(found.get(at + 1)));
    } catch (error) {
      for (const one of batch) one.fail(error);
    }
  };
  return (credential, target, now) =>
    new Promise((answer, fail) => {
      const kind = kindOf(target);
      const asked = {
        hash: credential.hash,
        id: target === undefined || target.id === '@current' ? null : target.id,
        answer,
        fail,
      };
      const batch = waiting.get(`${credential.kind} ${kind}`);
      if (batch !== undefined) return void batch.push(asked);
      waiting.set(`${credential.kind} ${kind}`, [asked]);
      // Runs when every request that has already arrived has been read.
      setImmediate(() => void ask(credential.kind, kind, now));
    });
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

const session_columns =
  "s.id, s.user_id, s.expires_at, s.last_used_at, ARRAY['*'] AS scopes, NULL::uuid[] AS " +
  'scoped_organizations, NULL::integer[] AS scoped_teams, s.token_created_at';

/** Where credential `k` of a hash comes from. */
const sources: Record<Credential['kind'], { columns: string; join: string }> = {
  key: {
    columns:
      'k.id AS key_id, k.mask_value AS key_mask, NULL::uuid AS session_id, NULL::timestamptz ' +
      'AS token_created_at, false AS is_previous_token',
    join: 'JOIN personal_api_keys k ON k.key_hash = asked.hash',
  },
  session: {
    columns:
      'NULL::uuid AS key_id, NULL::text AS key_mask, k.id AS session_id, k.token_created_at, ' +
      'k.is_previous_token',
    join: `JOIN LATERAL (
      SELECT ${session_columns}, false AS is_previous_token FROM sessions s
        WHERE s.token_hash = asked.hash UNION ALL
      SELECT ${session_columns}, true AS is_previous_token FROM sessions s
        WHERE s.previous_token_hash = asked.hash) k ON true`,
  },
};

/** Leans on the unique indexes of the hashes and of members (user_id, organization_id). */
function accessSql(credential: Credential['kind'], kind: Kind, batch: Asked[], now: string): Sql {
  const source = sources[credential];
  const [columns, join] =
    kind === 'none'
      ? ['', '']
      : [
          ', target.organization_id, target.level, target.last_seen_at, target.enforce_2fa, ' +
            'target.team_id, target.timezone',
          `LEFT JOIN LATERAL (${targets[kind]}) target ON true`,
        ];
  return sql`
    SELECT asked.number, ${raw(source.columns)}, k.scopes, k.scoped_organizations, k.scoped_teams,
      k.last_used_at, u.id AS user_id, u.uuid AS user_uuid, u.email,
      u.totp_confirmed_at IS NOT NULL AS has_second_factor${raw(columns)}
    FROM unnest(${batch.map((one) => one.hash)}::bytea[],
      ${batch.map((one) => one.id)}::text[]) WITH ORDINALITY AS asked (hash, id, number)
    ${raw(source.join)} JOIN users u ON u.id = k.user_id AND u.is_active
    ${raw(join)}
    WHERE k.expires_at IS NULL OR k.expires_at > ${now}::timestamptz`;
}
