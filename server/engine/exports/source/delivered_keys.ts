import type { Engine } from '../engine.ts';
import { keysOf } from './keys.ts';
import { openSourceQuery } from './source_query.ts';
import type { Source } from './source_query.ts';

const keys_per_batch = 20_000;

/** Yields the keys of all rows that a run reads, in batches. Throws if its rows have no key. */
export async function* deliveredKeys(
  engine: Engine,
  source: Source,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const { text, parameters, key, settings } = await openSourceQuery(engine, source);
  if (key === undefined) throw new Error('The rows of this delivery have no key.');
  const query = `SELECT toString(${key}) AS key FROM ${text}`;
  const asked = { query, query_params: parameters, clickhouse_settings: settings };
  yield* keysOf(engine, { ...asked, count: keys_per_batch }, signal);
}
