import { Readable } from 'node:stream';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { Agent, request } from 'undici';
import { openClickHouseStore } from '../../test/merges/stores.ts';
import { first_version, json, list } from './table.ts';
import type { ByHand, MergedPlace } from './table.ts';

/**
 * ClickHouse. Bytes are all bytes written into files. Background merges are stopped, because they
 * come later. The hand-written way leaves the choice of the version to the engine.
 */
export async function openClickHousePlace(): Promise<MergedPlace> {
  const store = await openClickHouseStore();
  const place = await store.open();
  const { url, database, user, password, table_name } = place.config as Record<string, string>;
  const http_agent = new (await import('node:https')).Agent({ rejectUnauthorized: false });
  const access = { url: url!, database: database!, username: user!, password: password! };
  const client = createClient({
    ...access,
    http_agent,
    request_timeout: 600_000,
    log: { level: 127 },
  });
  const tables = [table_name!, 'own'];
  const run = (query: string) => client.command({ query });
  const sum = async (queries: string[]) => {
    const all = await Promise.all(queries.map((query) => numberOf(client, query)));
    return all.reduce((one, other) => one + other, 0);
  };
  return {
    place,
    fill: async (rows) => {
      await run(
        `CREATE TABLE own (id Int64, name String, properties String, total Float64,
          changed DateTime64(6, 'UTC'), is_deleted Bool)
          ENGINE = ReplacingMergeTree(changed) ORDER BY id`,
      );
      for (const table of tables)
        await run(
          `INSERT INTO ${table} (${list}) SELECT number + 1, concat('name of ', toString(number)),
            ${json}, number / 7, toDateTime64('${first_version}', 6, 'UTC'), false
            FROM numbers(${rows})`,
        );
      for (const table of tables) await run(`SYSTEM STOP MERGES ${table}`);
    },
    own: { 'one INSERT': insertLines(access) },
    settle: async () => undefined,
    written: async () => {
      const of = (name: string) =>
        sum([`SELECT sum(value) AS n FROM system.events WHERE event = '${name}'`]);
      return {
        rows: await of('InsertedRows'),
        bytes: await of('WriteBufferFromFileDescriptorWriteBytes'),
      };
    },
    count: (changed) => {
      const where = `changed = parseDateTime64BestEffort('${changed}', 6, 'UTC')`;
      return sum(tables.map((table) => `SELECT count() AS n FROM ${table} FINAL WHERE ${where}`));
    },
    close: async () => {
      await client.close();
      await store.close();
    },
  };
}

async function numberOf(client: ClickHouseClient, query: string): Promise<number> {
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return Number((await answer.json<{ n: string }>())[0]!.n);
}

function insertLines(access: Record<'url' | 'database' | 'username' | 'password', string>): ByHand {
  return async (_rows, _lines, bytes) => {
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    const ask = new URL(access.url);
    ask.searchParams.set('database', access.database);
    ask.searchParams.set('query', `INSERT INTO own (${list}) FORMAT TabSeparatedWithNames`);
    ask.searchParams.set('date_time_input_format', 'best_effort');
    const answer = await request(ask, {
      method: 'POST',
      dispatcher,
      headers: {
        authorization: `Basic ${btoa(`${access.username}:${access.password}`)}`,
        'content-encoding': 'zstd',
      },
      body: Readable.from([bytes]),
    });
    const text = await answer.body.text();
    await dispatcher.close();
    if (answer.statusCode !== 200) throw new Error(text);
  };
}
