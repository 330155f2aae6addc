// Measures how old events are when readers can see their rows, by exports of every minute to files,
// PostgreSQL and the lake (our own catalog), and the processor time of all processes in five
// minutes beside that of exports of every five minutes. Each project takes events all the time.
//   npm run bench freshness [-- --exports 1,100,1000 --places File,Postgres,Iceberg --minutes 5
//     --exports_per_project 50 --event_ms 1000 --ratio true]
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { openDatabase } from '../server/platform/postgres/database.ts';
import type { Database } from '../server/platform/postgres/database.ts';
import { postgresPlace } from './export/servers.ts';
import { openBenchServer } from './measure/bench_server.ts';
import type { BenchServer } from './measure/bench_server.ts';
import { numbersOf, readBenchOptions, tell } from './measure/figures.ts';
import { processorTime } from './measure/processor_time.ts';

const options = readBenchOptions({
  exports: '1,100,1000',
  places: 'File,Postgres,Iceberg',
  minutes: '5',
  exports_per_project: '50',
  event_ms: '1000',
  ratio: 'true',
});
const minute_ms = 60_000;
/** Number of concurrent requests that create exports. */
const creators = 8;
/** Time in which the runs of the last minute end. */
const rest_ms = 40_000;

type Destination = { type: string; config: Record<string, unknown> };
/** The destination of an export, by the export's number; each has its own place. */
type Place = { destination(number: number): Promise<Destination>; close(): Promise<void> };

const none = async (): Promise<void> => undefined;
const places: Record<string, (server: BenchServer) => Promise<Place>> = {
  File: async () => ({
    destination: async (number) => ({ type: 'File', config: { prefix: `export_${number}/` } }),
    close: none,
  }),
  Postgres: async (server) => {
    const place = await postgresPlace(server);
    return {
      destination: async (number) => {
        const { type, config } = (await place.destination()) as Destination;
        return { type, config: { ...config, table_name: `export_${number}` } };
      },
      close: place.close ?? none,
    };
  },
  Iceberg: async () => ({
    destination: async (number) => ({
      type: 'Iceberg',
      config: { storage: 'File', table: `export_${number}` },
    }),
    close: none,
  }),
};

async function main(): Promise<void> {
  for (const name of options.places.split(','))
    for (const count of numbersOf(options.exports)) await measure(name, count);
}

async function measure(name: string, count: number): Promise<void> {
  const server = await openBenchServer();
  const db = openDatabase(server.database_url, { connections_max: 2, application_name: 'bench' });
  const place = await places[name]!(server);
  let is_over = false;
  try {
    const teams = await createExports(server, place, count);
    const sending = teams.map((team_id, index) => send(server, team_id, index, () => is_over));
    const minutes = Number(options.minutes);
    const what = `${count} ${count === 1 ? 'export' : 'exports'} of every minute to ${name}`;
    const each_minute = await during(server, db, minutes);
    const ages = await agesOf(server, db, each_minute);
    for (const [share, told, aim] of [
      [0.5, 'median', undefined],
      [0.99, 'p99', 60],
      [1, 'oldest', undefined],
    ] as const)
      tell({
        what: `${what}: from event to row, ${told} of ${ages.length} rows`,
        unit: 's',
        better: 'less',
        ours: [quantile(ages, share)],
        aim: aim === undefined ? undefined : { value: aim },
      });
    if (options.ratio === 'true') await compare(server, db, `${what}, ${minutes} minutes`);
    is_over = true;
    await Promise.all(sending);
    async function compare(at: BenchServer, store: Database, told: string): Promise<void> {
      await db.run(sql`UPDATE batch_exports SET "interval" = 'every 5 minutes',
        next_run_at = date_bin('5 minutes', now(), 'epoch') + interval '5 minutes'`);
      const each_five = await during(at, store, minutes);
      tell({
        what: `${told}: processor time of all processes`,
        unit: 's',
        better: 'less',
        ours: [each_minute.seconds],
        beside: { name: 'every 5 minutes', rounds: [each_five.seconds] },
        aim: { ratio: 1 / 1.3 },
      });
    }
  } finally {
    is_over = true;
    await db.close();
    await place.close();
    await server.close();
  }
}

/** Creates exports in as many projects as they need, and returns the projects. */
async function createExports(server: BenchServer, place: Place, count: number): Promise<number[]> {
  const per_project = Number(options.exports_per_project);
  const teams: number[] = [];
  for (let number = 0; number < count; number += per_project)
    teams.push(Number((await server.api('POST', '/api/projects/', { name: `${number}` }))['id']));
  const left = Array.from({ length: count }, (_, number) => number);
  const create = async () => {
    for (let number = left.shift(); number !== undefined; number = left.shift())
      await server.api(
        'POST',
        `/api/projects/${teams[Math.floor(number / per_project)]}/batch_exports/`,
        {
          name: `Export ${number}`,
          interval: 'every minute',
          destination: await place.destination(number),
        },
      );
  };
  await Promise.all(Array.from({ length: creators }, create));
  return teams;
}

/** Sends a project one event after another until the measurement ends. */
async function send(
  { api }: BenchServer,
  team_id: number,
  index: number,
  isOver: () => boolean,
): Promise<void> {
  const event_ms = Number(options.event_ms);
  await pause((index * 137) % event_ms);
  while (!isOver()) {
    const began = performance.now();
    // An event that was refused for lack of space cannot be late.
    await api('POST', `/api/projects/${team_id}/events/`, {
      event: 'measured',
      distinct_id: 'somebody',
      properties: { page: '/products/1', amount: 12.5 },
    }).catch(() => undefined);
    await pause(Math.max(0, event_ms - (performance.now() - began)));
  }
}

type Window = { from: number; to: number; seconds: number };

/**
 * Waits for whole minutes from the next five-minute mark, including the runs of the last minute.
 * Returns the processor time of all processes of the server meanwhile.
 */
async function during(server: BenchServer, db: Database, minutes: number): Promise<Window> {
  const [{ now }] = (await db.rows<{ now: number }>(
    sql`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now`,
  )) as [{ now: number }];
  const step = Math.min(minutes, 5) * minute_ms;
  const from = Math.ceil((now + 1000) / step) * step;
  // The runs of the minute before belong to this minute.
  await pause(from + rest_ms - now);
  const before = processorTime(server.child.pid!, 'with children');
  await pause(minutes * minute_ms);
  const seconds = (processorTime(server.child.pid!, 'with children') - before) / 1e6;
  return { from, to: from + minutes * minute_ms, seconds };
}

/** The ages of all rows in the window at the end of their run, sorted. */
async function agesOf(server: BenchServer, db: Database, { from, to }: Window): Promise<number[]> {
  const runs = await db.rows<{ team_id: number; from: number; to: number; at: number }>(sql`
    SELECT team_id, extract(epoch FROM data_interval_start)::float8 * 1000 AS from,
      extract(epoch FROM data_interval_end)::float8 * 1000 AS to,
      extract(epoch FROM finished_at)::float8 * 1000 AS at
    FROM batch_export_runs WHERE status = 'Completed' AND records_completed > 0
      AND data_interval_start >= to_timestamp(${from / 1000})
      AND data_interval_end <= to_timestamp(${to / 1000})`);
  const events = await server.clickhouse.rows<{ team_id: string | number; at: string | number }>({
    query: 'SELECT team_id, toUnixTimestamp64Milli(inserted_at) AS at FROM events ORDER BY at',
  });
  const by_team = Map.groupBy(events, ({ team_id }) => Number(team_id));
  const ages = runs.flatMap((run) =>
    (by_team.get(run.team_id) ?? [])
      .map(({ at }) => Number(at))
      .filter((at) => at >= run.from && at < run.to)
      .map((at) => (run.at - at) / 1000),
  );
  return ages.toSorted((one, other) => one - other);
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

await main();
