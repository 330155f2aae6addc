import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import type { PlannedEventFields, PlannedEventRow } from './schema.ts';

const columns = sql`e.id, e.event, e.description, e.mode, e.properties, e.other_properties,
  e.created_at, e.updated_at, ${managedBy('planned_event', sql`e.id`)} AS managed_by`;

/** Lists the events of the project's tracking plan by name. Uses the unique index. */
export function listPlannedEvents(team_id: number): List {
  return listOf(columns, sql`planned_events e WHERE e.team_id = ${team_id}`, sql`e.event`);
}

/** Returns all events of the project's tracking plan. The caller has started a change of rules. */
export function allPlannedEvents(tx: Transaction, team_id: number): Promise<PlannedEventRow[]> {
  return tx.rows(sql`SELECT ${columns} FROM planned_events e WHERE e.team_id = ${team_id}`);
}

/** Lists the planned events of all projects of an organization, oldest first. */
export function listPlannedEventsOf(
  db: Queryable,
  organization_id: string,
): Promise<(PlannedEventRow & { team_id: number })[]> {
  return db.rows(sql`SELECT e.team_id, ${columns} FROM planned_events e
    JOIN projects p ON p.id = e.team_id WHERE p.organization_id = ${organization_id}::uuid
    ORDER BY e.created_at, e.id`);
}

/** Returns the planned event; with `lock`, nobody else can change it until the transaction ends. */
export function findPlannedEvent(
  db: Queryable,
  team_id: number,
  id: string,
  lock?: 'lock',
): Promise<PlannedEventRow | undefined> {
  return db.row<PlannedEventRow>(sql`SELECT ${columns} FROM planned_events e
    WHERE e.id = ${id}::uuid AND e.team_id = ${team_id} ${locking(lock, 'FOR UPDATE')}`);
}

/**
 * Counts the planned events of the project, and returns whether another event than `id` has the
 * name. The caller has started a change of rules.
 */
export async function lookAtPlan(
  tx: Transaction,
  team_id: number,
  event: string,
  id: string | null,
): Promise<{ count: number; is_taken: boolean }> {
  const row = await tx.row<{ count: number; is_taken: boolean }>(sql`
    SELECT count(*) AS count,
      coalesce(bool_or(event = ${event} AND id IS DISTINCT FROM ${id}::uuid), false) AS is_taken
    FROM planned_events WHERE team_id = ${team_id}`);
  return row!;
}

/**
 * Stores a planned event, a new one unless `id` is given. The caller has started a change of rules.
 */
export async function storePlannedEvent(
  tx: Transaction,
  team_id: number,
  planned: PlannedEventFields,
  id: string = uuidv7(),
): Promise<string> {
  await tx.run(sql`
    INSERT INTO planned_events (id, team_id, event, description, mode, properties, other_properties)
    VALUES (${id}::uuid, ${team_id}, ${planned.event}, ${planned.description}, ${planned.mode},
      ${JSON.stringify(planned.properties)}::jsonb, ${planned.other_properties})
    ON CONFLICT (id) DO UPDATE SET (event, description, mode, properties, other_properties,
      updated_at) = (excluded.event, excluded.description, excluded.mode, excluded.properties,
      excluded.other_properties, now())`);
  return id;
}

/** Deletes it from the plan. The caller has started a change of rules. */
export async function deletePlannedEvent(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM planned_events WHERE id = ${id}::uuid`);
}
