import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import { backfillArea } from './backfill_area.ts';
import type { BackfillBy } from './backfill_area.ts';
import { countByRun } from './backfill_counts.ts';
import type { Engine } from '../engine.ts';
import type { Rhythm } from './interval.ts';
import { subtract, toStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { resolveQuery } from '../../query/query.ts';
import { QueryError } from '../../query/query_error.ts';
import type { ModelName } from '../../model/models/model.ts';

/** A longer look is given up, and workers count the rows instead. */
const look_seconds_max = 30;

/** A data interval [from, to) in milliseconds. */
export type Span = { from: number; to: number };

/**
 * The rows left for a backfill's next intervals, by the start of each. An interval before `until`
 * without an entry has none. Only rows in `rest` are counted.
 */
export type Ahead = { until: number; records: Map<number, number>; rest: Rectangle[] };

/** The selection of a backfill, and its export's rhythm. */
export type Looked = Rhythm & {
  team_id: number;
  model: ModelName;
  custom_query: string | null;
  destination_config: Record<string, unknown> | null;
  selects_by: BackfillBy;
  /** ISO 8601. */
  watermark: string;
};

/**
 * Finds which of the next intervals of a backfill have source rows outside `taken`, in one query.
 * Undefined if that is unknown: for queries whose rows do not each stand for one source row, and if
 * the store does not answer. The watermark has settled, so the answer stays true.
 */
export async function lookAhead(
  engine: Engine,
  looked: Looked,
  spans: Span[],
  taken: Rectangle[],
): Promise<Ahead | undefined> {
  const [first, last] = [spans[0], spans.at(-1)];
  if (first === undefined || last === undefined || !isRowWise(looked)) return undefined;
  const { selects_by: by } = looked;
  const area = backfillArea(by, first.from, last.to, Date.parse(looked.watermark));
  const rest = subtract([area], taken);
  if (rest.length === 0) return { until: last.to, records: new Map(), rest };
  const source = {
    team_id: looked.team_id,
    model: looked.model,
    selection: toStored(rest),
    custom_query: null,
    destination_config: looked.destination_config,
    data_interval_end: new Date(last.to).toISOString(),
  };
  const cut = { rhythm: looked, from: first.from, to: last.to, by };
  try {
    const signal = AbortSignal.timeout(look_seconds_max * 1000);
    const counts = await caughtUp(engine.clickhouse, row_tables, () =>
      countByRun(engine, source, cut, signal),
    );
    if (counts === undefined) return undefined;
    const { listed, runs } = counts;
    return {
      until: listed.length < runs ? (listed.at(-1)?.from ?? first.from) + 1 : last.to,
      records: new Map(listed.map(({ from, records }) => [from, records])),
      rest,
    };
  } catch (error) {
    engine.log.warn(
      { err: error },
      'the store did not say which intervals of a backfill have rows',
    );
    return undefined;
  }
}

/** Each row of such a query, or of no query, comes from one row of the model. */
function isRowWise({ model, custom_query }: Looked): boolean {
  if (custom_query === null) return true;
  try {
    return resolveQuery(custom_query, { model }).is_row_wise;
  } catch (error) {
    if (error instanceof QueryError) return false;
    throw error;
  }
}
