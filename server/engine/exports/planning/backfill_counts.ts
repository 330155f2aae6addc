import type { BackfillBy } from './backfill_area.ts';
import { eventFilterOf } from '../../model/models/event_filter.ts';
import { boundaryAtOrBefore } from './interval.ts';
import type { Rhythm } from './interval.ts';
import { intervalText } from './interval_text.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { models } from '../../model/models/index.ts';
import { openSourceQuery } from '../source/source_query.ts';
import type { SourceQuery, Source } from '../source/source_query.ts';
import { ask } from '../source/source.ts';
import type { Store } from '../source/source.ts';

/**
 * The cut of a backfill's runs: the boundaries of the rhythm within [from, to) in milliseconds, by
 * one of the two times.
 */
export type BackfillCut = { rhythm: Rhythm; from: number; to: number; by: BackfillBy };

/**
 * The source rows of a backfill's runs: the number of rows, the number of runs with rows, and the
 * first of these runs (at most `listed_runs_max`) by their start in milliseconds.
 */
export type BackfillCounts = {
  records: number;
  runs: number;
  listed: { from: number; records: number }[];
};

/** Most runs that are listed one by one. */
export const listed_runs_max = 1_000;

/**
 * Counts the source rows of each run of a backfill, in one query to the store. Undefined if the
 * rows of a run depend on its other rows or its interval (a query that aggregates, orders or calls
 * `now()`, or persons through a query). Such runs must be counted one by one. Rejects with the
 * error that `queryFailure` returns.
 */
export async function countByRun(
  store: Store,
  source: Source,
  cut: BackfillCut,
  signal: AbortSignal,
): Promise<BackfillCounts | undefined> {
  const rows = await versionsOf(store, source, cut.by);
  if (rows === undefined) return undefined;
  const run = intervalText(cut.rhythm, cut);
  const answer = await ask<{
    first: string | number;
    records: string | number;
    all_records: string | number;
    all_runs: string | number;
  }>(store, rows.reading, {
    query: `
      SELECT first, records, toUInt64(sum(records) OVER ()) AS all_records,
        toUInt64(count() OVER ()) AS all_runs
      FROM (SELECT ${run.text} AS run, min(toUnixTimestamp64Milli(happened)) AS first,
        toUInt64(${rows.records}) AS records FROM ${rows.reading.text} GROUP BY run)
      ORDER BY first LIMIT ${listed_runs_max}`,
    parameters: run.parameters,
    signal,
  });
  const startOf = (first: number) => Math.max(boundaryAtOrBefore(cut.rhythm, first), cut.from);
  return {
    records: Number(answer[0]?.all_records ?? 0),
    runs: Number(answer[0]?.all_runs ?? 0),
    listed: answer.map((row) => ({
      from: startOf(Number(row.first)),
      records: Number(row.records),
    })),
  };
}

/**
 * Returns a reading with the time `happened`, by which runs are cut, and the aggregate that counts
 * its rows.
 */
async function versionsOf(
  store: Store,
  source: Source,
  by: BackfillBy,
): Promise<{ reading: SourceQuery; records: string } | undefined> {
  const reading = await openSourceQuery(store, source);
  const model = models[source.model];
  const versions = model.versions(
    source.team_id,
    fromStored(source.selection),
    eventFilterOf(source.destination_config),
  );
  const parameters = { ...reading.parameters, ...versions.parameters };
  const timed = (text: string) => ({
    reading: { ...reading, text: `(SELECT *, ${by} AS happened FROM ${text})`, parameters },
    records: versions.records,
  });
  if (reading.query === undefined) return timed(versions.text);
  // A query that refers to the time of its run contains this parameter.
  const isSameInEveryRun =
    reading.key !== undefined && !reading.text.includes('{data_interval_end:');
  if (!isSameInEveryRun || !model.has_event_time) return undefined;
  // The rows of a query have no event time, so it is looked up by their key.
  return timed(
    by === 'inserted_at'
      ? reading.text
      : `(SELECT * FROM ${versions.text} WHERE ${model.key} IN (SELECT ${model.key}
        FROM ${reading.text}))`,
  );
}
