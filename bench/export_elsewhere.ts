// Exports to PostgreSQL against `psql \copy` of the same bytes into the same server, and to S3
// (s3rver) against ClickHouse's own writer to it. Each is measured twice in turn, best of both,
// from "counted" to "completed". A million events are one slice, copied straight into the table;
// three million are several, which go through a stage. Needs psql. Run: npm run
// bench export_elsewhere [-- 1000000,3000000]
import { execFile } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { selectFor } from '../server/engine/formats/select.ts';
import { models } from '../server/engine/models/index.ts';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { fillEvents } from '../test/factories/fill_events.ts';
import { openPostgresProxy } from '../test/servers/postgres_proxy.ts';
import { openS3Server } from '../test/servers/s3_server.ts';
import { call, serverEnvironment, startServer, until } from '../test/processes/server_process.ts';

const sizes = (process.argv[2] ?? '1000000,3000000').split(',').map(Number);
const day_ms = 24 * 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = makeApiKey();
const server = await startServer(['start'], serverEnvironment(folder, key));
const stores = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
  clickhouse_url: string;
  database_url: string;
};
const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'bench' });
const url = new URL(stores.database_url.replace('@/', '@host/'));
// Both ways go through the same door, because the embedded server listens on a Unix socket only.
const door = await openPostgresProxy(
  `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? '5432'}`,
  { tls: false },
);
const pool = new pg.Pool({ connectionString: stores.database_url, max: 1 });
await pool.query('CREATE SCHEMA warehouse');
const store = await openS3Server(['bucket']);
const to = Math.floor(Date.now() / day_ms) * day_ms;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

async function ours(teamId: number, destination: object): Promise<number> {
  const list = `/api/projects/${teamId}/batch_exports/`;
  const created = await call(server.address, key, 'POST', list, {
    name: 'Bench',
    interval: 'day',
    destination,
  });
  const path = `${list}${String(created.body['id'])}`;
  await call(server.address, key, 'POST', `${path}/backfill/`, {
    start_at: new Date(to - day_ms).toISOString(),
    end_at: new Date(to).toISOString(),
  });
  const run = await until('the run', 900_000, 200, async () => {
    const [newest] = (await call(server.address, key, 'GET', `${path}/runs/`)).body['results'] as {
      id: string;
      status: string;
    }[];
    if (newest?.status.startsWith('Failed')) throw new Error(JSON.stringify(newest));
    return newest?.status === 'Completed' ? newest : undefined;
  });
  const logs = (await call(server.address, key, 'GET', `${path}/runs/${run.id}/logs/?limit=100`))
    .body['results'] as { timestamp: string; message: string }[];
  const begun = logs.find(({ message }) => message.startsWith('Attempt'))!;
  return (Date.parse(logs[0]!.timestamp) - Date.parse(begun.timestamp)) / 1000;
}

async function postgresRatio(teamId: number): Promise<string> {
  const { columns } = models.events;
  const select = selectFor({ format: 'TabSeparated', compression: null }, columns.tables);
  const file = join(folder, 'bytes.tsv');
  const { stream } = await clickhouse.exec({
    query: `SELECT ${select.expressions} FROM events WHERE team_id = ${teamId}
      ORDER BY inserted_at, uuid FORMAT ${select.format}`,
    clickhouse_settings: select.settings,
  });
  await pipeline(stream, createWriteStream(file));
  const config = {
    host: '127.0.0.1',
    port: door.port,
    user: url.username,
    password: url.password,
    database: url.pathname.slice(1),
    schema: 'warehouse',
    require_tls: false,
  };
  const names = columns.tables.map(({ name }) => `"${name}"`).join(', ');
  const connection =
    `host=127.0.0.1 port=${door.port} user=${url.username} password=${url.password} ` +
    `dbname=${config.database} sslmode=disable`;
  const own: number[] = [];
  const mine: number[] = [];
  for (const round of [1, 2]) {
    mine.push(
      await ours(teamId, {
        type: 'Postgres',
        config: { ...config, table_name: `ours_${teamId}_${round}` },
      }),
    );
    await pool.query(`CREATE TABLE warehouse.own (LIKE warehouse.ours_${teamId}_${round})`);
    own.push(
      await timed(() =>
        promisify(execFile)('psql', [
          connection,
          '-c',
          `\\copy warehouse.own (${names}) FROM '${file}'`,
        ]),
      ),
    );
    await pool.query(`DROP TABLE warehouse.own, warehouse.ours_${teamId}_${round}`);
  }
  rmSync(file);
  return compared(own, mine);
}

async function s3Ratio(teamId: number): Promise<string> {
  const select = selectFor({ format: 'JSONLines', compression: null }, models.events.columns.files);
  const { endpoint, access_key, secret_key } = store;
  const config = {
    bucket_name: 'bucket',
    region: 'us-east-1',
    aws_access_key_id: access_key,
    aws_secret_access_key: secret_key,
    endpoint_url: endpoint,
  };
  const own: number[] = [];
  const mine: number[] = [];
  for (const round of [1, 2]) {
    mine.push(
      await ours(teamId, {
        type: 'S3',
        config: { ...config, prefix: `ours-${teamId}-${round}`, file_format: 'JSONLines' },
      }),
    );
    own.push(
      await timed(() =>
        clickhouse.command({
          query: `INSERT INTO FUNCTION s3('${endpoint}/bucket/own-${teamId}-${round}.jsonl',
            '${access_key}', '${secret_key}', '${select.format}')
            SELECT ${select.expressions} FROM events WHERE team_id = ${teamId}
              ORDER BY inserted_at, uuid`,
          clickhouse_settings: select.settings,
        }),
      ),
    );
  }
  return compared(own, mine);
}

function compared(own: number[], mine: number[]): string {
  const [theirs, best] = [Math.min(...own), Math.min(...mine)];
  return (
    `ours ${best.toFixed(1)} s, theirs ${theirs.toFixed(1)} s, ` +
    `ratio ${(theirs / best).toFixed(2)}`
  );
}

try {
  for (const events of sizes) {
    const project = await call(server.address, key, 'POST', '/api/projects/', {
      name: `${events} events`,
    });
    const teamId = Number(project.body['id']);
    await fillEvents(clickhouse, {
      team_id: teamId,
      events,
      from: to - day_ms,
      to,
      inserted_from: to - day_ms,
      inserted_to: to,
    });
    await clickhouse.command({ query: 'OPTIMIZE TABLE events FINAL' });
    console.log(`${events} events, Postgres against psql \\copy: ${await postgresRatio(teamId)}`);
    console.log(`${events} events, S3 against ClickHouse: ${await s3Ratio(teamId)}`);
  }
} finally {
  await pool.end();
  await door.close();
  await store.close();
  await clickhouse.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
