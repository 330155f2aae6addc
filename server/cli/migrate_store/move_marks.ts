import { randomUUID } from 'node:crypto';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { statementFor } from '../../platform/clickhouse/topology/statements.ts';
import { ask, hasTable } from '../stores/ask.ts';
import { UserError } from '../user_error.ts';

/**
 * Checks that the target is another store than the source, and that only an earlier try of the same
 * server has filled it; marks it as the target. Throws a `UserError` otherwise.
 */
export async function claimTarget(
  source: ClickHouse,
  target: ClickHouse,
  server: string,
): Promise<void> {
  const marks = (await hasTable(target, 'moves'))
    ? await caughtUp(target, ['moves'], () =>
        ask<{ server: string; is_ended: number }>(target, 'SELECT server, is_ended FROM moves'),
      )
    : [];
  if (marks.some(({ is_ended }) => is_ended === 1))
    throw new UserError(
      'The store of --to was switched to before, so it may have newer rows than this one. Set ' +
        'SLUICE_CLICKHOUSE_URL to it; to start over, drop all tables there first.',
    );
  if (marks.some((mark) => mark.server !== server))
    throw new UserError('The store of --to is being filled by another server. Name an empty one.');
  if (marks.length === 0)
    for (const table of row_tables) {
      if ((await hasTable(target, table)) && (await hasRows(target, table)))
        throw new UserError(
          (await isSameTable(source, target, table))
            ? own_store
            : `The store of --to has rows in ${table} from another source. Name an empty one.`,
        );
    }
  await target.command({
    query: statementFor(
      target.mode,
      'CREATE TABLE IF NOT EXISTS moves (server String, mark String, is_ended UInt8) ' +
        'ENGINE = MergeTree ORDER BY server',
    ),
  });
  const mark = randomUUID();
  await markTarget(target, server, { mark, is_ended: 0 });
  if (!(await hasTable(source, 'moves'))) return;
  const seen = await ask(source, `SELECT 1 FROM moves WHERE mark = '${mark}'`);
  if (seen.length === 0) return;
  // The source is not a target, so it must have no mark of an unfinished move.
  await source.command({ query: 'DROP TABLE moves SYNC' });
  throw new UserError(own_store);
}

const own_store = '--to is the store that the server already uses. Name another one.';

/** Returns true if both are the same table of the same machine, under any address. */
async function isSameTable(
  source: ClickHouse,
  target: ClickHouse,
  table: string,
): Promise<boolean> {
  const query = `SELECT hostName() AS host, data_paths, toString(metadata_modification_time) AS at
    FROM system.tables WHERE database = currentDatabase() AND name = '${table}'`;
  const [one, other] = [await ask<object>(source, query), await ask<object>(target, query)];
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Records the state of the move in the target. */
export async function markTarget(
  target: ClickHouse,
  server: string,
  mark: { mark: string; is_ended: 0 | 1 },
): Promise<void> {
  await target.insert({ table: 'moves', values: [{ server, ...mark }], format: 'JSONEachRow' });
}

async function hasRows(clickhouse: ClickHouse, table: string): Promise<boolean> {
  return (await ask(clickhouse, `SELECT 1 FROM ${table} LIMIT 1`)).length > 0;
}
