// A bare server that shows the least cost of ingesting the same events: bare node:http, JSON.parse,
// and one INSERT for each 10,000 rows (or for 50 ms of rows), answered when it is stored. It knows
// no keys, no uuids, no persons, no limits. Used by capture.ts.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openTestStores } from '../../test/harness_stores.ts';
import { Readable } from 'node:stream';
import { eventOf, stream_events } from './events.ts';
import type { Used } from '../ingestion/server.ts';
import { json } from 'node:stream/consumers';

const stores = await openTestStores({ clickhouse: true });
const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'bench' });
const rows_max = 10_000;
const wait_ms = 50;

type Sent = ReturnType<typeof eventOf>;
let rows: object[] = [];
let waiting: (() => void)[] = [];
let timer: NodeJS.Timeout | undefined;
let inserting = Promise.resolve();

async function insert(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  const [values, answered] = [rows, waiting];
  rows = [];
  waiting = [];
  await clickhouse.insert({ table: 'bare_events', values, format: 'JSONEachRow' });
  for (const done of answered) done();
}

function rowOf({ event, distinct_id, uuid, properties }: Sent): object {
  return { team_id: 1, event, distinct_id, uuid, properties: JSON.stringify(properties) };
}

function add(sent: Sent): Promise<void> | undefined {
  rows.push(rowOf(sent));
  timer ??= setTimeout(() => (inserting = inserting.then(insert)), wait_ms);
  if (rows.length < rows_max) return undefined;
  return (inserting = inserting.then(insert));
}

const server = http.createServer(async (request, response) => {
  if (request.headers['content-type'] === 'application/x-ndjson')
    for await (const line of createInterface({ input: request })) await add(JSON.parse(line));
  else {
    const { batch } = (await json(request)) as { batch: Sent[] };
    for (const one of batch) void add(one);
  }
  waiting.push(() => response.end('{"status":1}'));
  timer ??= setTimeout(() => (inserting = inserting.then(insert)), wait_ms);
});
await clickhouse.command({
  query: `CREATE TABLE IF NOT EXISTS bare_events (team_id Int64, uuid UUID, event String,
    distinct_id String, properties String CODEC(ZSTD(1)), inserted_at DateTime64(6, 'UTC')
    DEFAULT now64(6)) ENGINE = MergeTree ORDER BY (team_id, inserted_at, uuid)
    SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
});
server.listen(0, '127.0.0.1', () => {
  process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
/** The store's own INSERT of all rows of a stream, in one statement. */
async function insertAlone(): Promise<number> {
  const began = performance.now();
  await clickhouse.insert({
    table: 'bare_events',
    values: Readable.from(Array.from({ length: stream_events }, (_, at) => rowOf(eventOf(at)))),
    format: 'JSONEachRow',
  });
  return (stream_events / (performance.now() - began)) * 1_000;
}

process.on('message', async (asked: 'used' | 'insert' | 'end') => {
  if (asked === 'insert') return void process.send!(await insertAlone());
  if (asked === 'used') {
    const { user, system } = process.threadCpuUsage();
    const told: Used = { processor_us: user + system, memory_bytes: process.memoryUsage.rss() };
    return void process.send!(told);
  }
  server.closeAllConnections();
  server.close();
  await clickhouse.close();
  await stores.close();
  process.disconnect();
});
