import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { hashKeyContext } from '../../engine/ingest/rules/find_intake.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { managedBy } from '../managed/store.ts';
import type { IngestionRuleFields, IngestionRuleRow } from './schema.ts';

const columns = sql`r.id, r.name, r.events, r.action, r.property, r.target, r.new_name, r.value,
  r.only_if_missing, r.enabled, r.position, r.created_at, r.updated_at,
  ${managedBy('ingestion_rule', sql`r.id`)} AS managed_by`;
// Uses ingestion_rules_by_project.
const order = sql`ORDER BY r.position, r.created_at, r.id`;

/** Lists the project's rules in order. */
export function listIngestionRules(team_id: number): List {
  return {
    rows: (page) => sql`SELECT ${columns} FROM ingestion_rules r WHERE r.team_id = ${team_id}
      ${order} LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM ingestion_rules WHERE team_id = ${team_id}`,
  };
}

/** Returns all rules of the project in order. */
export function allIngestionRules(db: Queryable, team_id: number): Promise<IngestionRuleRow[]> {
  return db.rows(
    sql`SELECT ${columns} FROM ingestion_rules r WHERE r.team_id = ${team_id} ${order}`,
  );
}

/** Lists the rules of all projects of an organization, oldest first. */
export function listRulesOf(
  db: Queryable,
  organization_id: string,
): Promise<(IngestionRuleRow & { team_id: number })[]> {
  return db.rows(sql`SELECT r.team_id, ${columns} FROM ingestion_rules r
    JOIN projects p ON p.id = r.team_id WHERE p.organization_id = ${organization_id}::uuid
    ORDER BY r.created_at, r.id`);
}

/**
 * Returns the project's rule; with `lock`, nobody else can change it until the transaction ends.
 */
export function findIngestionRule(
  db: Queryable,
  team_id: number,
  id: string,
  lock?: 'lock',
): Promise<IngestionRuleRow | undefined> {
  return db.row<IngestionRuleRow>(sql`SELECT ${columns} FROM ingestion_rules r
    WHERE r.id = ${id}::uuid AND r.team_id = ${team_id} ${locking(lock, 'FOR UPDATE')}`);
}

/**
 * Starts a change of the project's rules or plan, which every process applies a second after the
 * commit. Until the commit, no other change of the project can start.
 */
export async function beginRuleChange(tx: Transaction, team_id: number): Promise<void> {
  await tx.run(sql`INSERT INTO ingestion_rule_sets AS s (team_id, version) VALUES (${team_id}, 1)
    ON CONFLICT (team_id) DO UPDATE SET version = s.version + 1`);
}

/** Creates the key by which the project hashes, if it has none. The caller has started a change. */
export async function ensureHashKey(
  tx: Transaction,
  secrets: Pick<Secrets, 'seal'>,
  team_id: number,
): Promise<void> {
  const sealed = secrets.seal(randomBytes(32).toString('base64'), hashKeyContext(team_id));
  await tx.run(sql`UPDATE ingestion_rule_sets SET hash_key = ${sealed}
    WHERE team_id = ${team_id} AND hash_key IS NULL`);
}

/** Counts the project's rules. The caller has started a change. */
export async function countIngestionRules(tx: Transaction, team_id: number): Promise<number> {
  const row = await tx.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM ingestion_rules WHERE team_id = ${team_id}`,
  );
  return row!.count;
}

/** Returns the position after the last rule. The caller has started a change. */
export async function nextPosition(tx: Transaction, team_id: number): Promise<number> {
  const row = await tx.row<{ position: number }>(sql`
    SELECT least(coalesce(max(position), 0) + 1, 1000000) AS position
    FROM ingestion_rules WHERE team_id = ${team_id}`);
  return row!.position;
}

/** Stores a rule, a new one unless `id` is given. The caller has started a change. */
export async function storeIngestionRule(
  tx: Transaction,
  team_id: number,
  rule: IngestionRuleFields,
  id: string = uuidv7(),
): Promise<string> {
  const value = rule.value === null ? null : JSON.stringify(rule.value);
  await tx.run(sql`
    INSERT INTO ingestion_rules AS r (id, team_id, name, events, action, property, target, new_name,
      value, only_if_missing, enabled, position)
    VALUES (${id}::uuid, ${team_id}, ${rule.name}, ${rule.events}::text[], ${rule.action},
      ${rule.property}, ${rule.target}, ${rule.new_name}, ${value}::jsonb, ${rule.only_if_missing},
      ${rule.enabled}, ${rule.position})
    ON CONFLICT (id) DO UPDATE SET (name, events, action, property, target, new_name, value,
      only_if_missing, enabled, position, updated_at) = (excluded.name, excluded.events,
      excluded.action, excluded.property, excluded.target, excluded.new_name, excluded.value,
      excluded.only_if_missing, excluded.enabled, excluded.position, now())`);
  return id;
}

/** Numbers the rules from 1 on, in the order of the ids. The caller has started a change. */
export async function orderIngestionRules(
  tx: Transaction,
  team_id: number,
  ids: string[],
): Promise<void> {
  await tx.run(sql`
    UPDATE ingestion_rules r SET position = wanted.place, updated_at = now()
    FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS wanted (id, place)
    WHERE r.id = wanted.id AND r.team_id = ${team_id} AND r.position <> wanted.place`);
}

/** Deletes the rule; its counts stay. The caller has started a change. */
export async function deleteIngestionRule(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM ingestion_rules WHERE id = ${id}::uuid`);
}

/** Lists the counts of the range's hours by source and day, newest day first. */
export function listRuleCounts(
  db: Queryable,
  team_id: number,
  { after, before }: { after: string; before: string },
): Promise<{ source: string; day: string; events: number }[]> {
  return db.rows(sql`
    SELECT source, date_trunc('day', hour, 'UTC') AS day, sum(events)::bigint AS events
    FROM ingestion_rule_counts WHERE team_id = ${team_id} AND hour >= ${after}::timestamptz
      AND hour < ${before}::timestamptz
    GROUP BY 1, 2 ORDER BY 2 DESC, 3 DESC, 1`);
}
