import sql, { empty, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isDatabaseError } from '../../postgres/database.ts';
import type { Database, Statement } from '../../postgres/database.ts';
import type { AccessFinder, Credential, Found, RecordPlace, Target } from './access.ts';
import { has_second_factor, kindOf, targets, targets_of_service } from './access_places.ts';

type Asked = {
  credential: Credential;
  target: Target;
  now: string;
  answer(found: Found | undefined): void;
  fail(error: unknown): void;
};

/** Look-ups of one kind; a single look-up does not wait for others. */
type Queue = { waiting: Asked[]; under_way: number; is_crowded: boolean };

/** Most look-ups in one statement; the time of one record delays all others. */
const batch_max = 32;

/**
 * Opens the look-up of credential, user, membership, target, and the record that a route reads
 * there. It runs one statement per request. Once two requests of a kind arrive in the same turn of
 * the event loop, it runs one statement for all of them. Undefined: the key or session does not
 * exist or has expired, or its user is not active. The target's columns are null if it does not
 * exist, the user is not a member of its organization, or the key is limited to others. Callers
 * cannot tell the three apart. Nothing is cached, so a change applies to the next request. If a
 * statement for several requests fails in the store, each is looked up separately.
 */
export function openAccessFinder(db: Database): AccessFinder {
  const queues = new Map<string, Queue>();
  const statements: Statements = new Map();
  const ask = async (kind: string, batch: Asked[], queue: Queue): Promise<void> => {
    queue.under_way += 1;
    try {
      const found = await findAll(db, accessStatement(statements, kind, batch));
      batch.forEach((one, at) => one.answer(found.get(at + 1)));
    } catch (error) {
      if (batch.length > 1 && isDatabaseError(error))
        for (const one of batch) void ask(kind, [one], queue);
      else for (const one of batch) one.fail(error);
    } finally {
      queue.under_way -= 1;
    }
  };
  const askAll = (kind: string, queue: Queue) => {
    const batch = queue.waiting;
    queue.waiting = [];
    queue.is_crowded = batch.length > 1;
    for (let at = 0; at < batch.length; at += batch_max)
      void ask(kind, batch.slice(at, at + batch_max), queue);
  };
  return (credential, target, now) =>
    new Promise((answer, fail) => {
      const kind = `${credential.kind} ${kindOf(target)} ${target?.record?.url ?? ''}`;
      const asked = { credential, target, now, answer, fail };
      const queue = queues.get(kind) ?? { waiting: [], under_way: 0, is_crowded: false };
      queues.set(kind, queue);
      if (queue.under_way === 0 && queue.waiting.length === 0 && !queue.is_crowded)
        return void ask(kind, [asked], queue);
      queue.waiting.push(asked);
      // Runs when every request that has already arrived has been read.
      if (queue.waiting.length === 1) setImmediate(askAll, kind, queue);
    });
}

/**
 * Returns the found rows, by their number in the batch. All look-ups of a batch are of one kind.
 */
async function findAll(db: Database, statement: Statement): Promise<Map<number, Found>> {
  const rows = await db.rows<Record<string, unknown>>(statement);
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

/** Prefix of the look-up's own columns; the others belong to the record. */
const found_prefix = 'found_';
const named = (columns: Record<string, string>) =>
  Object.entries(columns)
    .map(([name, from]) => `${from} AS ${found_prefix}${name}`)
    .join(', ');

/** True if session `s` was opened by the account's own credentials, or by the operator. */
export const is_own_method = "s.method IN ('password', 'passkey', 'link')";
const session_columns = `s.id, s.user_id, s.expires_at, s.last_used_at, ARRAY['*'] AS scopes,
  CASE WHEN ${is_own_method} OR s.own_factor_at IS NOT NULL THEN NULL
    ELSE ARRAY(SELECT r.organization_id FROM provider_reach r
      WHERE r.domain_id = s.domain_id AND NOT s.awaits_factor) END AS scoped_organizations,
  NULL::integer[] AS scoped_teams, '{}'::text[] AS allowed_ip_ranges, s.token_created_at,
  true AS is_session,
  s.domain_id AS session_domain_id, s.created_at AS session_created_at,
  CASE WHEN ${is_own_method} THEN coalesce(s.own_factor_at, s.created_at)
    ELSE s.own_factor_at END AS own_factor_at,
  ${is_own_method} OR s.second_factor_at IS NOT NULL AS shows_second_factor`;

const of_key = {
  key_id: 'k.id',
  key_mask: 'k.mask_value',
  session_id: 'NULL::uuid',
  session_domain_id: 'NULL::uuid',
  own_factor_at: 'NULL::timestamptz',
  is_partial: 'false',
  session_created_at: 'NULL::timestamptz',
  session_hours_max: 'NULL::integer',
  idle_minutes_max: 'NULL::integer',
  token_created_at: 'NULL::timestamptz',
  is_previous_token: 'false',
};
const its_user = ' JOIN users u ON u.id = k.user_id AND u.is_active';

/** Source of credential `k` for a hash, with its user `u` if it has one. */
const sources: Record<Credential['kind'], { columns: Record<string, string>; join: string }> = {
  service_key: {
    columns: {
      ...of_key,
      scoped_organizations: 'ARRAY[k.organization_id]',
      resource: 'NULL::text',
      user_id: 'NULL::integer',
      user_uuid: 'NULL::uuid',
      email: 'NULL::text',
      has_second_factor: 'true',
    },
    join: 'JOIN service_keys k ON k.key_hash = asked.hash',
  },
  key: {
    columns: { ...of_key, resource: 'k.resource' },
    // An assistant's token ends before its grant; other keys have their own earlier end.
    join: `JOIN LATERAL (SELECT key.id, key.user_id, key.mask_value, key.scopes, key.resource,
        key.scoped_organizations, key.scoped_teams, key.allowed_ip_ranges, key.last_used_at,
        least(key.expires_at, key.token_expires_at) AS expires_at, false AS is_session,
        NULL::uuid AS session_domain_id, true AS shows_second_factor FROM personal_api_keys key
      WHERE key.key_hash = asked.hash) k ON true${its_user}`,
  },
  session: {
    columns: {
      key_id: 'NULL::uuid',
      key_mask: 'NULL::text',
      resource: 'NULL::text',
      session_id: 'k.id',
      session_domain_id: 'k.session_domain_id',
      own_factor_at: 'k.own_factor_at',
      is_partial: `k.scoped_organizations IS NOT NULL AND (cardinality(k.scoped_organizations) = 0
        OR EXISTS (SELECT 1 FROM members other WHERE other.user_id = k.user_id
          AND other.organization_id <> ALL (k.scoped_organizations)))`,
      session_created_at: 'k.session_created_at',
      session_hours_max: 'bounds.session_hours_max',
      idle_minutes_max: 'bounds.idle_minutes_max',
      token_created_at: 'k.token_created_at',
      is_previous_token: 'k.is_previous_token',
    },
    join: `JOIN LATERAL (
      SELECT ${session_columns}, false AS is_previous_token FROM sessions s
        WHERE s.token_hash = asked.hash UNION ALL
      SELECT ${session_columns}, true AS is_previous_token FROM sessions s
        WHERE s.previous_token_hash = asked.hash) k ON true
      LEFT JOIN LATERAL (SELECT min(o.session_hours_max) AS session_hours_max,
        min(o.idle_minutes_max) AS idle_minutes_max FROM members m JOIN organizations o
          ON o.id = m.organization_id WHERE m.user_id = k.user_id) bounds ON true${its_user}`,
  },
};
const of_caller = {
  number: 'asked.number',
  scopes: 'k.scopes',
  scoped_organizations: 'k.scoped_organizations',
  scoped_teams: 'k.scoped_teams',
  allowed_ip_ranges: 'k.allowed_ip_ranges',
  last_used_at: 'k.last_used_at',
  user_id: 'u.id',
  user_uuid: 'u.uuid',
  email: 'u.email',
  has_second_factor,
};
const of_target = Object.fromEntries(
  [
    'organization_id',
    'level',
    'last_seen_at',
    'closed',
    'organization_ip_ranges',
    'team_id',
    'timezone',
  ].map((name) => [name, `target.${name}`]),
);
const place: RecordPlace = {
  organization_id: raw('target.organization_id'),
  level: raw('target.level'),
  team_id: raw('target.team_id'),
  id: raw('asked.record_id'),
};

/** Parameters that each look-up fills with its own values. */
const own_values = ['hashes', 'ids', 'record_ids', 'now'] as const;
type OwnValues = Record<(typeof own_values)[number], unknown>;
const marks = Object.fromEntries(own_values.map((name) => [name, Symbol(name)])) as Record<
  keyof OwnValues,
  symbol
>;

/** A cache of the statements by kind: their text is long, and only depends on the kind. */
type Statements = Map<string, Statement>;

function accessStatement(statements: Statements, kind: string, batch: Asked[]): Statement {
  const [{ credential, target, now }] = batch as [Asked];
  let of_kind = statements.get(kind);
  if (of_kind === undefined) {
    const { text, values } = accessSql(credential.kind, target);
    statements.set(kind, (of_kind = { text, values }));
  }
  const given = new Map<unknown, unknown>([
    [marks.hashes, batch.map((one) => one.credential.hash)],
    [marks.ids, batch.map((one) => (one.target?.id === '@current' ? null : one.target?.id))],
    [marks.record_ids, batch.map((one) => one.target?.record?.id)],
    [marks.now, now],
  ]);
  const values = of_kind.values.map((value) =>
    typeof value === 'symbol' ? given.get(value) : value,
  );
  return { text: of_kind.text, values };
}

/** Uses the unique indexes of the hashes and of members (user_id, organization_id). */
function accessSql(credential: Credential['kind'], target: Target): Sql {
  const source = sources[credential];
  const kind = kindOf(target);
  const places = credential === 'service_key' ? targets_of_service : targets;
  const columns = { ...of_caller, ...source.columns, ...(kind === 'none' ? {} : of_target) };
  const record = target?.record?.select(place);
  return sql`
    SELECT ${raw(named(columns))}${record === undefined ? empty : raw(', record.*')}
    FROM unnest(${marks.hashes}::bytea[], ${marks.ids}::text[], ${marks.record_ids}::uuid[])
      WITH ORDINALITY AS asked (hash, id, record_id, number)
    ${raw(source.join)}
    ${kind === 'none' ? empty : raw(`LEFT JOIN LATERAL (${places[kind]}) target ON true`)}
    ${record === undefined ? empty : sql`LEFT JOIN LATERAL (${record}) record ON true`}
    WHERE k.expires_at IS NULL OR k.expires_at > ${marks.now}::timestamptz`;
}
