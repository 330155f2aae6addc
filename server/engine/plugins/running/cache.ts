import sql from 'sql-template-tag';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { PluginError } from '../plugin.ts';
import type { HostServices } from '../sandbox/host_services.ts';
import { firstOf, listOf, part, removeFrom } from './cache_lists.ts';
import { readKey } from './storage.ts';

const keys_max = 10_000;
const size_bytes_max = 20 * 1024 * 1024;
const writes_per_trim = 200;

/**
 * Opens a plugin's cache, as in Redis: values that expire, counters, lists of at most 1,000 items
 * and a million characters of JSON (the first ones stay). Beyond 10,000 keys or 20 MiB, the oldest
 * values are deleted.
 */
export function openCache(db: Database, config_id: number): HostServices['cache'] {
  let writes = 0;
  const written = async () => {
    writes += 1;
    if (writes % writes_per_trim === 0) await trim(db, config_id);
  };
  const changeList = <Result>(
    key: string,
    change: (list: unknown[]) => { list: unknown[]; result: Result },
  ) =>
    db.transaction(async (tx) => {
      await lockKey(tx, config_id, key);
      const { list, result } = change(listOf(await find(tx, config_id, key)));
      if (list.length === 0)
        await tx.run(
          sql`DELETE FROM plugin_cache WHERE plugin_config_id = ${config_id} AND key = ${key}`,
        );
      else await put(tx, config_id, key, list, 'keep');
      return result;
    });
  return {
    get: (key) => find(db, config_id, readKey(key)),
    set: async (key, value, seconds) => {
      await put(db, config_id, readKey(key), value, seconds);
      await written();
    },
    incr: async (key, by) => {
      const value = await increase(db, config_id, key, by);
      await written();
      return value;
    },
    expire: async (key, seconds) =>
      (await db.run(sql`
        UPDATE plugin_cache SET expires_at = now() + make_interval(secs => ${seconds})
          WHERE plugin_config_id = ${config_id} AND key = ${readKey(key)} AND ${isAlive}`)) > 0,
    lpush: async (key, values) => {
      const length = await changeList(readKey(key), (list) => {
        const next = firstOf([...values.toReversed(), ...list]);
        return { list: next, result: next.length };
      });
      await written();
      return length;
    },
    lrange: async (key, first, last) =>
      part(listOf(await find(db, config_id, readKey(key))), first, last),
    llen: async (key) => listOf(await find(db, config_id, readKey(key))).length,
    lrem: (key, count, value) => changeList(readKey(key), (list) => removeFrom(list, count, value)),
    lpop: (key, count) =>
      changeList(readKey(key), (list) => ({
        list: list.slice(Math.max(count, 0)),
        result: list.slice(0, Math.max(count, 0)),
      })),
  };
}

function increase(db: Database, config_id: number, key: string, by: number): Promise<number> {
  return db.transaction(async (tx) => {
    await lockKey(tx, config_id, readKey(key));
    const before = (await find(tx, config_id, key)) ?? 0;
    if (typeof before !== 'number')
      throw new PluginError('invalid', `The value of ${key} is not a number.`);
    await put(tx, config_id, key, before + by, 'keep');
    return before + by;
  });
}

/** Deletes expired entries of all plugins, and returns their number. */
export function sweepCache(db: Database): Promise<number> {
  return db.run(sql`DELETE FROM plugin_cache WHERE expires_at <= now()`);
}

const isAlive = sql`(expires_at IS NULL OR expires_at > now())`;

async function find(db: Queryable, config_id: number, key: string): Promise<unknown> {
  const row = await db.row<{ value: string }>(
    sql`SELECT value::text AS value FROM plugin_cache WHERE plugin_config_id = ${config_id}
      AND key = ${key} AND ${isAlive}`,
  );
  return row === undefined ? undefined : (JSON.parse(row.value) as unknown);
}

/** Without seconds it never expires; `keep`: it keeps its expiry. */
async function put(
  db: Queryable,
  config_id: number,
  key: string,
  value: unknown,
  seconds: number | null | 'keep',
): Promise<void> {
  const lasting = seconds === 'keep' ? null : seconds;
  const isKept = seconds === 'keep';
  await db.run(sql`
    INSERT INTO plugin_cache AS old (plugin_config_id, key, value, expires_at)
    VALUES (${config_id}, ${key}, ${JSON.stringify(value)}::json,
      now() + make_interval(secs => ${lasting}::float8))
    ON CONFLICT (plugin_config_id, key) DO UPDATE SET value = excluded.value, written_at = now(),
      expires_at = CASE WHEN ${isKept} AND (old.expires_at IS NULL
        OR old.expires_at > now()) THEN old.expires_at ELSE excluded.expires_at END`);
}

/** An advisory lock also covers a missing key, which has no row to lock. */
async function lockKey(tx: Transaction, config_id: number, key: string): Promise<void> {
  await tx.row(
    sql`SELECT pg_advisory_xact_lock(${config_id}::integer, hashtext(${`plugin cache ${key}`}))`,
  );
}

/** Keeps the newest entries of one plugin's cache, within its limits. */
async function trim(db: Database, config_id: number): Promise<void> {
  await db.run(sql`
    DELETE FROM plugin_cache WHERE plugin_config_id = ${config_id} AND key IN (
      SELECT key FROM (
        SELECT key, row_number() OVER newest AS number,
          sum(pg_column_size(value)) OVER newest AS bytes FROM plugin_cache
        WHERE plugin_config_id = ${config_id} WINDOW newest AS (ORDER BY written_at DESC,
          key)) ranked
      WHERE number > ${keys_max} OR bytes > ${size_bytes_max})`);
}
