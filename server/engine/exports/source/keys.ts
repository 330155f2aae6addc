import type { QueryParams } from '@clickhouse/client';
import type { Engine } from '../engine.ts';

/** A question whose rows have a text `key`; `count` keys are given at a time. */
type Asked = Pick<QueryParams, 'query' | 'query_params' | 'clickhouse_settings'> & {
  count: number;
};

/** Gives the keys that the analytics store answers, some at a time; memory is bounded by these. */
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
