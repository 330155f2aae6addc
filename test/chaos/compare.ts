import sql from 'sql-template-tag';
import { contains } from '../factories/events/areas.ts';
import { fromStored } from '../../server/engine/model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../server/engine/model/ledger/rectangles.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import type { DeliveredRows } from './delivered.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { instantOf, rowDigest } from './row_digest.ts';
import type { EventRow } from './row_digest.ts';

/** An event in the analytics store. */
export type SourceEvent = { uuid: string; instant: number; inserted_at: number; digest: string };

/** The differences between a destination and its source. All but `rows` and `repeats` must be 0. */
export type Comparison = {
  /** Rows at the destination. */
  rows: number;
  /** Rows that are there again because a backfill of everything was requested. */
  repeats: number;
  /** Missing rows: never delivered, or delivered less often than the runs report. */
  lost: number;
  /** Rows that are there more often than requested. */
  doubled: number;
  /** Rows whose content differs from the source, or that the source does not have. */
  changed: number;
};

/**
 * All events of projects in the store, each row of them. An event that occurs twice is in the list
 * twice.
 */
export async function readSource({
  clickhouse,
}: {
  clickhouse: Pick<ClickHouse, 'query'>;
}): Promise<SourceEvent[]> {
  const answer = await clickhouse.query({
    query:
      'SELECT toString(uuid) AS uuid, event, distinct_id, toString(timestamp) AS timestamp, ' +
      'toString(inserted_at) AS inserted_at, properties FROM events WHERE team_id > 0',
    format: 'JSONEachRow',
  });
  const events: SourceEvent[] = [];
  for await (const rows of answer.stream<EventRow & { uuid: string; inserted_at: string }>()) {
    for (const row of rows.map((one) => one.json()))
      events.push({
        uuid: row.uuid,
        instant: instantOf(row.timestamp),
        inserted_at: instantOf(row.inserted_at),
        digest: rowDigest(row),
      });
  }
  return events;
}

/** Counts the events with a 200 that ingestion has lost, doubled or changed. */
export function compareIngestion(
  sent: Map<string, string>,
  source: SourceEvent[],
  filled: number,
): Pick<Comparison, 'lost' | 'doubled' | 'changed'> {
  const stored = new Map(source.map(({ uuid, digest }) => [uuid, digest]));
  const present = [...sent].filter(([uuid]) => stored.has(uuid));
  return {
    lost: sent.size - present.length,
    doubled: source.length - stored.size,
    changed:
      present.filter(([uuid, digest]) => stored.get(uuid) !== digest).length +
      stored.size -
      filled -
      present.length,
  };
}

/** A delivery at the destination. */
type Held = { area: Rectangle[]; is_of_all: boolean };

/**
 * The rows that a destination must hold. All rows inserted since `inserted_from` (milliseconds)
 * must be there, by any run. With `with_doubt`, a delivery whose commit was begun counts, completed
 * or not, so that only `doubled` can show a fault.
 */
export type Expectation = { inserted_from: number; with_doubt?: true };

/**
 * Compares a destination with the source row by row. The deliveries of the revision decide how
 * often a row must be there: once for each backfill of everything, and once for another delivery
 * that was planned before those backfills.
 */
export async function compareRows(
  db: Database,
  revision: { batch_export_id: string; revision: number },
  source: SourceEvent[],
  delivered: DeliveredRows,
  expectation: Expectation,
): Promise<Comparison> {
  const deliveries = await listHeld(db, revision, expectation.with_doubt === true);
  const comparison: Comparison = { rows: 0, repeats: 0, lost: 0, doubled: 0, changed: 0 };
  for (const event of source) {
    const planned = plannedTimes(deliveries, event);
    const wanted = Math.max(planned, event.inserted_at >= expectation.inserted_from ? 1 : 0);
    const digests = delivered.get(event.uuid) ?? [];
    comparison.lost += Math.max(0, wanted - digests.length);
    comparison.doubled += Math.max(0, digests.length - planned);
    comparison.repeats += Math.max(0, Math.min(digests.length, planned) - 1);
    comparison.changed += digests.filter((digest) => digest !== event.digest).length;
  }
  const known = new Set(source.map(({ uuid }) => uuid));
  for (const [uuid, digests] of delivered) {
    comparison.rows += digests.length;
    if (!known.has(uuid)) comparison.changed += digests.length;
  }
  return comparison;
}

/**
 * In the order in which their selections became final. The completed run decides, or the run that
 * began the commit, if another run continued it. Ids are created under the lock of the export, and
 * grow with time.
 */
async function listHeld(
  db: Database,
  { batch_export_id, revision }: { batch_export_id: string; revision: number },
  withDoubt: boolean,
): Promise<Held[]> {
  const rows = await db.rows<{ selection: StoredRectangle[]; is_of_all: boolean }>(sql`
    SELECT selection, is_of_all FROM (
      SELECT DISTINCT ON (run.delivery_id) run.id::text AS id, run.selection,
        coalesce(backfill.mode = 'all', false) AS is_of_all
      FROM batch_export_runs run LEFT JOIN batch_export_backfills backfill
        ON backfill.id = run.backfill_id
      WHERE run.batch_export_id = ${batch_export_id} AND run.revision = ${revision}
        AND run.committing_at IS NOT NULL AND run.records_total_count > 0
        AND (${withDoubt} OR EXISTS (SELECT 1 FROM batch_export_runs done
          WHERE done.batch_export_id = run.batch_export_id AND done.delivery_id = run.delivery_id
          AND done.status = 'Completed'))
      ORDER BY run.delivery_id, run.id::text) held ORDER BY id`);
  return rows.map(({ selection, is_of_all }) => ({ area: fromStored(selection), is_of_all }));
}

/** Returns how often the row may be there. Only a backfill of everything delivers a row again. */
function plannedTimes(deliveries: Held[], { instant, inserted_at }: SourceEvent): number {
  const holders = deliveries.filter(({ area }) => contains(area, instant, inserted_at));
  return holders.filter(({ is_of_all }, place) => is_of_all || place === 0).length;
}
