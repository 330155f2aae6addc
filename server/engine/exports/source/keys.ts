import type { QueryParams } from '@clickhouse/client';
import type { Engine } from '../engine.ts';

/** A query whose rows have a text `key`; `count` keys form a batch. */
type Asked = Pick<QueryParams, 'query' | 'query_params' | 'clickhouse_settings'> & {
  count: number;
};

/** Yields the keys from the analytics store in batches, which bound the memory. */
export async function* keysOf(
  { clickhouse }: Pick<Engine, 'clickhouse'>,
  { count, ...asked }: Asked,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const result = await clickhouse.query({ ...asked, format: 'JSONEachRow', abort_signal: signal });
  let keys: string[] = [];
  for await (const rows of result.stream<{ key: string }>()) {
    for (const row of rows) {
      keys.push(row.json().key);
      if (keys.length < count) continue;
      yield keys;
      keys = [];
    }
  }
  if (keys.length > 0) yield keys;
}
