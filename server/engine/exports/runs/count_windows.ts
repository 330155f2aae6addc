import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { models } from '../../model/models/index.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { selectionCondition } from '../../model/models/selection.ts';
import type { ClaimedRun } from '../../model/run.ts';
import type { ModelName } from '../../model/models/model.ts';

/** Exports with one interval share a window, so there are few; each costs a query. */
const windows_per_turn_max = 20;
const question_seconds_max = 10;

/** A run with at most this many rows is small: it shares a slot with others. */
export const few_records = 1_000;

/** The bounds of insertion time for runs of one model, over all of their projects. */
type Window = { table: ModelName; inserted_from: number; inserted_to: number };

/** The fields of a run that bound its selection. */
export type LookedAt = Pick<ClaimedRun, 'team_id' | 'model' | 'custom_query' | 'selection'>;

/** Runs by an upper bound of their rows: none, few, or more or unknown. */
export type Parted<Run> = { empty: Run[]; small: Run[]; busy: Run[] };

/** Splits runs like `probe`. */
export type Look = <Run extends LookedAt>(runs: Run[]) => Promise<Parted<Run>>;

/**
 * Splits runs by the number of their project's rows in the selection, before any filter. Runs of
 * queries, which can return rows from nothing, and runs with an unbounded selection are busy. If
 * the runs have too many different windows for one turn, some are in no list.
 */
export async function probe<Run extends LookedAt>(
  clickhouse: ClickHouse,
  runs: Run[],
): Promise<Parted<Run>> {
  const empty: Run[] = [];
  const small: Run[] = [];
  const busy: Run[] = [];
  const windows = new Map<string, { window: Window; runs: Run[] }>();
  for (const run of runs) {
    const window = windowOf(run);
    if (run.custom_query !== null || window === undefined) busy.push(run);
    else if (run.selection.length === 0) empty.push(run);
    else {
      const alike = windows.get(JSON.stringify(window));
      if (alike === undefined) windows.set(JSON.stringify(window), { window, runs: [run] });
      else alike.runs.push(run);
    }
  }
  const fullest = [...windows.values()]
    .toSorted((one, other) => other.runs.length - one.runs.length)
    .slice(0, windows_per_turn_max);
  const look = async () => {
    for (const { window, runs: alike } of fullest) {
      const counts = await countRows(clickhouse, window, [
        ...new Set(alike.map((run) => run.team_id)),
      ]);
      for (const run of alike) {
        const records = counts.get(run.team_id) ?? 0;
        (records === 0 ? empty : records <= few_records ? small : busy).push(run);
      }
    }
  };
  if (fullest.length > 0) await caughtUp(clickhouse, row_tables, look);
  return { empty, small, busy };
}

/** Undefined if insertion time has no bounds; an empty selection has an empty window. */
function windowOf({ model, selection }: LookedAt): Window | undefined {
  const sides = fromStored(selection);
  const inserted_from = sides.reduce(
    (least, side) => Math.min(least, side.inserted_from),
    sides[0]?.inserted_from ?? 0,
  );
  const inserted_to = sides.reduce(
    (most, side) => Math.max(most, side.inserted_to),
    sides[0]?.inserted_to ?? 0,
  );
  if (!Number.isFinite(inserted_from) || !Number.isFinite(inserted_to)) return undefined;
  return { table: model, inserted_from, inserted_to };
}

/** Counts the rows of each project in the window; omits projects without rows. */
async function countRows(
  clickhouse: ClickHouse,
  { table, inserted_from, inserted_to }: Window,
  teamIds: number[],
): Promise<Map<number, number>> {
  const side = { event_from: -Infinity, event_to: Infinity, inserted_from, inserted_to };
  const condition = selectionCondition([side], { event: undefined, inserted: 'inserted_at' });
  const rows = await clickhouse.rows<{ team_id: string | number; records: string | number }>({
    query: `SELECT team_id, count() AS records
      FROM ${models[table].changes(`team_id IN {team_ids:Array(Int64)} AND ${condition}`)}
      GROUP BY team_id`,
    query_params: { team_ids: teamIds },
    clickhouse_settings: { max_execution_time: question_seconds_max },
    use_multipart_params_auto: true,
    abort_signal: AbortSignal.timeout((question_seconds_max + 1) * 1000),
  });
  return new Map(rows.map((row) => [Number(row.team_id), Number(row.records)]));
}
