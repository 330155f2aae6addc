// Rows of one run into an Iceberg table in the export folder, beside the store's own INSERT of the
// same rows into an Iceberg table of its own, in turns: npm run bench lake_insert [-- --events
// 1000000 --rounds 3]. The embedded ClickHouse is the peer: it reads the same rows, encodes them
// with the same encoder, and commits a snapshot too, without receipts, digests or the ledger. A
// first round of both is not measured, because new processes compile their code.
import { openQueryHarness } from '../test/factories/batch_exports/query_exports.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { processorTime } from './measure/processor_time.ts';

const options = readBenchOptions({ events: '1000000', rounds: '3' });
const events = Number(options.events);
const columns = ['uuid', 'timestamp', 'event', 'distinct_id', 'properties'];

async function main(): Promise<void> {
  const exporting = await openQueryHarness();
  try {
    const { clickhouse } = exporting.harness.deps;
    const home = await exporting.harness.newOrganization();
    await clickhouse.command({
      query: `INSERT INTO events (team_id, uuid, event, distinct_id, person_id, properties,
          person_properties, elements_chain, timestamp, created_at, inserted_at)
        SELECT {team_id:UInt32}, generateUUIDv4(number), concat('event ', toString(number % 20)),
          concat('person-', toString(number % 5000)), generateUUIDv4(number + 1),
          concat('{"path":"/', hex(sipHash64(number)), '","n":', toString(number % 1000), '}'),
          '{}', '', at, at, at
        FROM (SELECT number, toDateTime64('2026-01-01 00:00:00', 6, 'UTC')
          + toIntervalMillisecond(number * 3500000 / {events:UInt64}) AS at
          FROM numbers({events:UInt64}))`,
      query_params: { team_id: home.project.id, events },
    });
    const ours: Turn[] = [];
    const peers: Turn[] = [];
    for (let round = 0; round <= Number(options.rounds); round += 1) {
      const { id } = await exporting.scheduled(
        home,
        {
          name: `round ${round}`,
          destination: { type: 'Iceberg', config: { storage: 'File', table: `ours_${round}` } },
          custom_query: `SELECT ${columns.join(', ')} FROM events`,
        },
        1,
      );
      await exporting.plan(id);
      ours.push(await turnOf(async () => void (await exporting.runAll(id))));
      await clickhouse.command({
        query: `CREATE TABLE peer_${round} (uuid Nullable(String), timestamp
            Nullable(DateTime64(6, 'UTC')), event Nullable(String), distinct_id Nullable(String),
            properties Nullable(String))
          ENGINE = IcebergLocal('peer_${round}/', 'Parquet')`,
        clickhouse_settings: { allow_experimental_insert_into_iceberg: 1 },
      });
      peers.push(
        await turnOf(() =>
          clickhouse
            .command({
              query: `INSERT INTO peer_${round} SELECT toString(uuid), timestamp, event,
                  distinct_id, toString(properties) FROM events
                WHERE team_id = {team_id:UInt32} ORDER BY inserted_at, uuid`,
              query_params: { team_id: home.project.id },
              clickhouse_settings: {
                allow_experimental_insert_into_iceberg: 1,
                output_format_parquet_compression_method: 'zstd',
              },
            })
            .then(() => undefined),
        ),
      );
    }
    for (const turns of [ours, peers]) turns.shift();
    tell({
      what: `${events / 1e6} M rows into an Iceberg table, in one run`,
      unit: 'rows/s',
      better: 'more',
      ours: ours.map(({ rate }) => rate),
      beside: { name: "the store's own INSERT", rounds: peers.map(({ rate }) => rate) },
      processor: {
        ours: ours.map(({ processor }) => processor),
        beside: peers.map(({ processor }) => processor),
      },
      aim: { ratio: 0.9 },
    });
  } finally {
    await exporting.close();
  }
}

/** Rows per second, and seconds of processor time of this process, which contains the store. */
type Turn = { rate: number; processor: number };

async function turnOf(work: () => Promise<void>): Promise<Turn> {
  const began = performance.now();
  const used = processorTime(process.pid, 'with children');
  await work();
  const processor = (processorTime(process.pid, 'with children') - used) / 1e6;
  return { rate: (events / (performance.now() - began)) * 1_000, processor };
}

await main();
