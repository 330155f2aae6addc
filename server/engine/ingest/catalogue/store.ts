import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { PropertyCount, Window, WindowCounts } from './count_window.ts';
import type { KindCounts } from './propose.ts';
import { project_properties_max, withinBounds } from './within_bounds.ts';
import type { BoundedCounts } from './within_bounds.ts';

/** Days with event counts; a month of them is shown. */
const days_kept = 32;
const day_ms = 24 * 3_600_000;
/** After this silence, the process counts as dead or its window as uncountable. */
const claim_seconds = 90;

/**
 * Claims the longest waiting project with uncounted events, and returns the insertions to count.
 * All below `to` are final, because a project's next batch begins after the previous one has ended,
 * and gets a later instant. Undefined if none waits. A process of an earlier release leaves calls
 * that describe groups uncounted; these wait too.
 */
export async function claimWindow(db: Database): Promise<Window | undefined> {
  const row = await db.row<{
    team_id: number;
    counted_until: string;
    groups_counted_until: string;
    final_until: string;
  }>(sql`
    WITH due AS (
      SELECT s.team_id, final.until
      FROM ingestion_states s JOIN projects project ON project.id = s.team_id
        LEFT JOIN event_catalogue_states c ON c.team_id = s.team_id
        CROSS JOIN LATERAL (SELECT CASE WHEN s.batch_id IS NULL
          THEN s.last_inserted_at + interval '1 millisecond'
          ELSE s.last_inserted_at END AS until) AS final
      WHERE (final.until > coalesce(c.counted_until, 'epoch')
          OR c.groups_counted_until < c.counted_until)
        AND coalesce(c.claimed_until < clock_timestamp(), true)
      ORDER BY c.counted_at NULLS FIRST, s.team_id LIMIT 1
      FOR KEY SHARE OF project SKIP LOCKED),
    claimed AS (
      INSERT INTO event_catalogue_states AS c (team_id, claimed_until)
      SELECT team_id, clock_timestamp() + make_interval(secs => ${claim_seconds}) FROM due
      ON CONFLICT (team_id) DO UPDATE SET claimed_until = excluded.claimed_until
        WHERE coalesce(c.claimed_until < clock_timestamp(), true)
      RETURNING c.team_id, c.counted_until, c.groups_counted_until)
    SELECT claimed.*, due.until AS final_until FROM claimed JOIN due USING (team_id)`);
  if (row === undefined) return undefined;
  return {
    team_id: row.team_id,
    from: Date.parse(row.counted_until),
    to: Date.parse(row.final_until),
    groups_from: Date.parse(row.groups_counted_until),
  };
}

/**
 * Adds the counts of a window and marks it as counted, in one transaction. Does nothing if another
 * process has counted it meanwhile, or the project is gone.
 */
export async function addCounts(db: Database, counts: WindowCounts, now_ms: number): Promise<void> {
  const { team_id, from, to, groups_from, groups_to } = counts.window;
  await db.transaction(async (tx) => {
    // The first of several processes that counted the same window matches the instant; the others
    // wait and find another.
    const noted = await tx.run(sql`
      UPDATE event_catalogue_states SET counted_until = ${isoInstant(to)}::timestamptz,
        groups_counted_until = ${isoInstant(groups_to)}::timestamptz,
        counted_at = clock_timestamp(), claimed_until = NULL
      WHERE team_id = ${team_id} AND counted_until = ${isoInstant(from)}::timestamptz
        AND groups_counted_until = ${isoInstant(groups_from)}::timestamptz`);
    if (noted === 0) return;
    if (counts.total > 0) {
      const events = await tx.rows<{ event: string }>(
        sql`SELECT event FROM event_catalogue WHERE team_id = ${team_id}`,
      );
      const known = {
        events: new Set(events.map(({ event }) => event)),
        properties: await knownProperties(tx, team_id, of_events),
      };
      await write(tx, team_id, withinBounds(known, counts), now_ms);
    }
    if (counts.groups.length > 0) await writeGroups(tx, team_id, counts.groups);
  });
}

/** The properties of events by name, or those of groups by type. */
type Place = { table: Sql; name: Sql };
const of_events: Place = { table: sql`event_catalogue_properties`, name: sql`event` };
const of_groups: Place = { table: sql`event_catalogue_groups`, name: sql`group_type` };

async function knownProperties(
  tx: Transaction,
  team_id: number,
  { table, name }: Place,
): Promise<Map<string, Set<string>>> {
  const rows = await tx.rows<{ name: string; names: string[] }>(sql`
    SELECT ${name} AS name, array_agg(DISTINCT property) AS names FROM ${table}
    WHERE team_id = ${team_id} GROUP BY 1`);
  return new Map(rows.map((row) => [row.name, new Set(row.names)]));
}

/** A type of groups is bounded as the name of an event is. */
async function writeGroups(
  tx: Transaction,
  team_id: number,
  properties: PropertyCount[],
): Promise<void> {
  const known = await knownProperties(tx, team_id, of_groups);
  const events = properties.map((one) => ({ ...one, day: '' }));
  const bounded = withinBounds(
    { events: new Set(known.keys()), properties: known },
    { total: 0, events, properties },
  );
  await writeProperties(tx, team_id, of_groups, bounded.properties);
  await addOthers(tx, team_id, { other_events: 0, other_values: bounded.other_values });
}

function writeProperties(
  tx: Transaction,
  team_id: number,
  { table, name }: Place,
  properties: PropertyCount[],
): Promise<number> {
  return tx.run(sql`
    INSERT INTO ${table} AS c (team_id, ${name}, property, kind, events, first_seen_at,
      last_seen_at)
    SELECT ${team_id}, event, property, kind, sum(events), to_timestamp(min(first) / 1e3),
      to_timestamp(max(last) / 1e3)
    FROM ${given(properties)} GROUP BY event, property, kind
    ON CONFLICT (team_id, ${name}, property, kind) DO UPDATE SET ${added}`);
}

async function addOthers(
  tx: Transaction,
  team_id: number,
  { other_events, other_values }: Pick<BoundedCounts, 'other_events' | 'other_values'>,
): Promise<void> {
  if (other_events + other_values > 0)
    await tx.run(sql`
      UPDATE event_catalogue_states SET other_events = other_events + ${other_events},
        other_values = other_values + ${other_values} WHERE team_id = ${team_id}`);
}

async function write(
  tx: Transaction,
  team_id: number,
  { events, properties, ...others }: BoundedCounts,
  now_ms: number,
): Promise<void> {
  const since = new Date(now_ms - (days_kept - 1) * day_ms).toISOString().slice(0, 10);
  await tx.run(sql`
    INSERT INTO event_catalogue AS c (team_id, event, events, first_seen_at, last_seen_at)
    SELECT ${team_id}, event, sum(events), to_timestamp(min(first) / 1e3),
      to_timestamp(max(last) / 1e3)
    FROM ${given(events)} GROUP BY event
    ON CONFLICT (team_id, event) DO UPDATE SET ${added}`);
  await tx.run(sql`
    INSERT INTO event_catalogue_days AS c (team_id, event, day, events)
    SELECT ${team_id}, event, day, sum(events) FROM ${given(events)} WHERE day >= ${since}::date
    GROUP BY event, day
    ON CONFLICT (team_id, event, day) DO UPDATE SET events = c.events + excluded.events`);
  await writeProperties(tx, team_id, of_events, properties);
  await addOthers(tx, team_id, others);
}

const given = (counts: object[]): Sql => sql`
  jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) AS given (event text, property text,
    kind text, day date, events bigint, first bigint, last bigint)`;

const added = sql`events = c.events + excluded.events,
  first_seen_at = least(c.first_seen_at, excluded.first_seen_at),
  last_seen_at = greatest(c.last_seen_at, excluded.last_seen_at)`;

/** Removes the counts of days that are no longer shown. Uses event_catalogue_days_by_age. */
export async function sweepDays(db: Queryable, now_ms: number): Promise<void> {
  const before = new Date(now_ms - days_kept * day_ms).toISOString().slice(0, 10);
  await db.run(sql`DELETE FROM event_catalogue_days WHERE day < ${before}::date`);
}

/** A property with the number of its values of each kind, over all events or calls of a project. */
export type CountedProperty = { property: string; kinds: KindCounts };

/** Returns the properties of a project's events or groups, the most frequent ones first. */
export async function listKindCounts(
  db: Queryable,
  team_id: number,
  source: 'event' | 'group',
): Promise<CountedProperty[]> {
  const { table } = source === 'event' ? of_events : of_groups;
  return db.rows<CountedProperty>(sql`
    SELECT property, json_object_agg(kind, events) AS kinds
    FROM (SELECT property, kind, sum(events)::bigint AS events FROM ${table}
      WHERE team_id = ${team_id} GROUP BY property, kind) AS counted
    GROUP BY property ORDER BY sum(events) DESC, property LIMIT ${project_properties_max}`);
}

/** Types of groups that are named for one property. */
const named_types_max = 20;

/** Returns the types of the groups that have a property, by property, the most frequent first. */
export async function listGroupTypes(
  db: Queryable,
  team_id: number,
): Promise<Map<string, string[]>> {
  const rows = await db.rows<{ property: string; types: string[] }>(sql`
    SELECT property, array_agg(group_type ORDER BY events DESC, group_type) AS types
    FROM (SELECT property, group_type, sum(events) AS events FROM event_catalogue_groups
      WHERE team_id = ${team_id} AND group_type <> '' GROUP BY property, group_type) AS counted
    GROUP BY property`);
  return new Map(rows.map(({ property, types }) => [property, types.slice(0, named_types_max)]));
}
