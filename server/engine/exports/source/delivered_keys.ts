import type { Engine } from '../engine.ts';
import { openSourceQuery } from './source_query.ts';
import type { Source } from './source_query.ts';

const keys_per_batch = 20_000;

/** The keys of all rows that a run reads, some at a time. */
export async function* deliveredKeys(
  engine: Engine,
  source: Source,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const { text, parameters, key, settings } = await openSourceQuery(engine, source);
  if (key === undefined) throw new Error('The rows of this delivery have no key.');
  const result = await engine.clickhouse.query({
    query: `SELECT toString(${key}) AS key FROM ${text}`,
    query_params: parameters,
    clickhouse_settings: settings,
    format: 'JSONEachRow',
    abort_signal: signal,
  });
  let keys: string[] = [];
  for await (const rows of result.stream<{ key: string }>()) {
    for (const row of rows) {
      keys.push(row.json().key);
      if (keys.length < keys_per_batch) continue;
      yield keys;
      keys = [];
    }
  }
  if (keys.length > 0) yield keys;
}
