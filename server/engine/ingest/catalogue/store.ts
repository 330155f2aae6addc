import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { Window, WindowCounts } from './count_window.ts';
import type { KindCounts } from './propose.ts';
import { withinBounds } from './within_bounds.ts';
import type { BoundedCounts, KnownNames } from './within_bounds.ts';

/** Days with event counts; a month of them is shown. */
const days_kept = 32;
const day_ms = 24 * 3_600_000;
/** After this silence, the process counts as dead or its window as uncountable. */
const claim_seconds = 90;

/**
 * Claims the longest waiting project with uncounted events, and returns the insertions to count.
 * All below `to` are final, because a project's next batch begins after the previous one has ended,
 * and gets a later instant. Undefined if none waits.
 */
export async function claimWindow(db: Database): Promise<Window | undefined> {
  const row = await db.row<{ team_id: number; counted_until: string; final_until: string }>(sql`
    WITH due AS (
      SELECT s.team_id, final.until
      FROM ingestion_states s JOIN projects project ON project.id = s.team_id
        LEFT JOIN event_catalogue_states c ON c.team_id = s.team_id
        CROSS JOIN LATERAL (SELECT CASE WHEN s.batch_id IS NULL
          THEN s.last_inserted_at + interval '1 millisecond'
          ELSE s.last_inserted_at END AS until) AS final
      WHERE final.until > coalesce(c.counted_until, 'epoch')
        AND coalesce(c.claimed_until < clock_timestamp(), true)
      ORDER BY c.counted_at NULLS FIRST, s.team_id LIMIT 1
      FOR KEY SHARE OF project SKIP LOCKED),
    claimed AS (
      INSERT INTO event_catalogue_states AS c (team_id, claimed_until)
      SELECT team_id, clock_timestamp() + make_interval(secs => ${claim_seconds}) FROM due
      ON CONFLICT (team_id) DO UPDATE SET claimed_until = excluded.claimed_until
        WHERE coalesce(c.claimed_until < clock_timestamp(), true)
      RETURNING c.team_id, c.counted_until)
    SELECT claimed.team_id, claimed.counted_until, due.until AS final_until
    FROM claimed JOIN due USING (team_id)`);
  if (row === undefined) return undefined;
  const { team_id, counted_until, final_until } = row;
  return { team_id, from: Date.parse(counted_until), to: Date.parse(final_until) };
}

/**
 * Adds the counts of a window and marks it as counted, in one transaction. Does nothing if another
 * process has counted it meanwhile, or the project is gone.
 */
export async function addCounts(db: Database, counts: WindowCounts, now_ms: number): Promise<void> {
  const { team_id, from, to } = counts.window;
  await db.transaction(async (tx) => {
    // The first of several processes that counted the same window matches the instant; the others
    // wait and find another.
    const noted = await tx.run(sql`
      UPDATE event_catalogue_states SET counted_until = ${isoInstant(to)}::timestamptz,
        counted_at = clock_timestamp(), claimed_until = NULL
      WHERE team_id = ${team_id} AND counted_until = ${isoInstant(from)}::timestamptz`);
    if (noted === 0 || counts.total === 0) return;
    await write(tx, team_id, withinBounds(await knownNames(tx, team_id), counts), now_ms);
  });
}

async function knownNames(tx: Transaction, team_id: number): Promise<KnownNames> {
  const events = await tx.rows<{ event: string }>(
    sql`SELECT event FROM event_catalogue WHERE team_id = ${team_id}`,
  );
  const properties = await tx.rows<{ event: string; names: string[] }>(sql`
    SELECT event, array_agg(DISTINCT property) AS names FROM event_catalogue_properties
    WHERE team_id = ${team_id} GROUP BY event`);
  return {
    events: new Set(events.map(({ event }) => event)),
    properties: new Map(properties.map(({ event, names }) => [event, new Set(names)])),
  };
}

async function write(
  tx: Transaction,
  team_id: number,
  { events, properties, other_events, other_values }: BoundedCounts,
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
  await tx.run(sql`
    INSERT INTO event_catalogue_properties AS c (team_id, event, property, kind, events,
      first_seen_at, last_seen_at)
    SELECT ${team_id}, event, property, kind, sum(events), to_timestamp(min(first) / 1e3),
      to_timestamp(max(last) / 1e3)
    FROM ${given(properties)} GROUP BY event, property, kind
    ON CONFLICT (team_id, event, property, kind) DO UPDATE SET ${added}`);
  if (other_events + other_values > 0)
    await tx.run(sql`
      UPDATE event_catalogue_states SET other_events = other_events + ${other_events},
        other_values = other_values + ${other_values} WHERE team_id = ${team_id}`);
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

/** A property with the number of its values of each kind, over all events of a project. */
export type CountedProperty = { property: string; kinds: KindCounts };

/** Returns the properties of a project's events, those with the most events first. */
export async function listKindCounts(
  db: Queryable,
  team_id: number,
  properties_max: number,
): Promise<CountedProperty[]> {
  return db.rows<CountedProperty>(sql`
    SELECT property, json_object_agg(kind, events) AS kinds
    FROM (SELECT property, kind, sum(events)::bigint AS events FROM event_catalogue_properties
      WHERE team_id = ${team_id} GROUP BY property, kind) AS counted
    GROUP BY property ORDER BY sum(events) DESC, property LIMIT ${properties_max}`);
}
