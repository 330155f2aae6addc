import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { askedOf, sealCriteria } from '../../engine/privacy/erasures/criteria.ts';
import type { Criteria } from '../../engine/privacy/erasures/criteria.ts';
import { rememberErased } from '../../engine/ingest/persons/erased_ids.ts';
import type { LateEvents } from '../../engine/ingest/persons/erased_ids.ts';
import { waitsForOlder } from '../../engine/privacy/erasures/erasure.ts';
import type { ErasureRow } from './schema.ts';

/** Selects the erasures of a table `e` in their wire form. */
const selectFrom = (table: Sql) => sql`
  SELECT e.id, e.team_id AS project, e.kind, e.late_events, e.asked, e.status, e.step,
    coalesce(e.detail, CASE WHEN e.finished_at IS NULL AND ${waitsForOlder(sql`e`)}
      THEN 'Waits for an erasure that was asked for before, until its copies are known.' END)
      AS detail, e.counts, (SELECT json_build_object(
    'waiting', count(*) FILTER (WHERE c.state = 'waiting'),
    'rewriting', count(*) FILTER (WHERE c.state = 'rewriting'),
    'rewritten', count(*) FILTER (WHERE c.state = 'rewritten'),
    'yours', count(*) FILTER (WHERE c.state = 'yours'))
    FROM erasure_copies c WHERE c.erasure_id = e.id) AS copies,
    (SELECT json_build_object(
    'waiting', count(*) FILTER (WHERE x.state = 'waiting'),
    'told', count(*) FILTER (WHERE x.state = 'told'),
    'cannot', count(*) FILTER (WHERE x.state = 'cannot'),
    'failed', count(*) FILTER (WHERE x.state = 'failed'))
    FROM erasure_tools x WHERE x.erasure_id = e.id) AS tools,
    e.certificate, e.signature, u.email AS created_by, e.created_at, e.finished_at,
    e.last_updated_at
  FROM ${table} e LEFT JOIN users u ON u.id = e.created_by`;

/**
 * Selects one page of the erasures of a project, newest first. It first chooses the page by
 * erasures_by_project, then counts the copies of these erasures only.
 */
export function listErasures(team_id: number): List {
  const order = sql`ORDER BY e.created_at DESC, e.id DESC`;
  return {
    rows: ({ limit, offset }) => {
      const chosen = sql`(SELECT e.* FROM erasures e WHERE e.team_id = ${team_id} ${order}
        LIMIT ${limit} OFFSET ${offset})`;
      return sql`${selectFrom(chosen)} ${order}`;
    },
    count: sql`SELECT count(*) AS count FROM erasures WHERE team_id = ${team_id}`,
  };
}

/** Returns the erasure of the project. */
export function findErasure(
  db: Queryable,
  team_id: number,
  id: string,
): Promise<ErasureRow | undefined> {
  return db.row<ErasureRow>(
    sql`${selectFrom(sql`erasures`)} WHERE e.team_id = ${team_id} AND e.id = ${id}::uuid`,
  );
}

/** An erasure as requested. */
type ErasureAsked = {
  organization_id: string;
  team_id: number;
  criteria: Criteria;
  late_events: LateEvents;
  created_by: number | null;
};

/**
 * Adds an erasure, which background work then carries out. The sent distinct ids count as erased
 * from the commit on, the persons' other ids as soon as they are found.
 */
export async function createErasure(
  tx: Transaction,
  secrets: Pick<Secrets, 'seal' | 'hash'>,
  { organization_id, team_id, criteria, late_events, created_by }: ErasureAsked,
): Promise<ErasureRow> {
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO erasures (id, organization_id, team_id, kind, late_events, criteria_sealed, asked,
      created_by)
    VALUES (${id}, ${organization_id}::uuid, ${team_id}, ${criteria.kind}, ${late_events},
      ${sealCriteria(secrets, id, criteria)}, ${JSON.stringify(askedOf(criteria))}::jsonb,
      ${created_by})`);
  if (criteria.kind === 'persons')
    await rememberErased(
      tx,
      secrets,
      { team_id, late_events, erasure_id: id },
      criteria.distinct_ids,
    );
  return (await findErasure(tx, team_id, id))!;
}

/** Lists the copies of an erasure, by export and interval. */
export function listCopies(id: string, state: string | undefined): List {
  return listOf(
    sql`batch_export_id AS batch_export, name, destination_type, place, data_interval_start,
      data_interval_end, records, state, detail, run_id AS run, new_run_id AS new_run`,
    sql`erasure_copies WHERE erasure_id = ${id}::uuid
      AND (${state ?? null}::text IS NULL OR state = ${state ?? null})`,
    sql`batch_export_id, data_interval_start, delivery_id`,
  );
}

/** Lists the plugins that received events of the persons, by name. */
export function listErasureTools(id: string): List {
  return listOf(
    sql`plugin_config_id AS plugin_config, name, state, detail, ids, told, told_at,
      CASE WHEN state = 'waiting' THEN due_at END AS next_try_at`,
    sql`erasure_tools WHERE erasure_id = ${id}::uuid`,
    sql`name, plugin_config_id`,
  );
}
