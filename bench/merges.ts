// A change of 1 % of the rows of a large table by merge, beside statements that one would write by
// hand for this table alone, in turn in each round. The changed keys are side by side in ascending
// order, or all over the table in random order. Both ways get the same text of the rows, for
// ClickHouse compressed; ours also checks the table, counts, and writes a receipt.
//   npm run bench merges [--way PostgreSQL] [--rows 10000000] [--rounds 3]
// Processor time is that of the server and of this process. Rows and bytes written are printed.
import { Readable } from 'node:stream';
import { openRandom } from '../test/chaos/random.ts';
import { freshDelivery } from '../test/factories/batch_exports/deliveries.ts';
import type { MergePlace } from '../test/merges/stores.ts';
import { seconds } from './export/place.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { median } from './measure/median.ts';
import { processorTime } from './measure/processor_time.ts';
import { openClickHousePlace } from './merges/clickhouse.ts';
import { openMySqlPlace } from './merges/mysql.ts';
import { openPostgresPlace } from './merges/postgres.ts';
import { columns, rowsOf } from './merges/table.ts';
import type { MergedPlace } from './merges/table.ts';

const options = readBenchOptions({ way: '', rows: '2000000', rounds: '3' });
const table_rows = Number(options.rows);
const openers = {
  PostgreSQL: openPostgresPlace,
  MariaDB: openMySqlPlace,
  ClickHouse: openClickHousePlace,
};
const key_orders = ['side by side', 'all over'] as const;
const merge = { key: ['id'], versions: ['changed'] };
const share = 100;

/** The keys of a turn; no other turn changes them. */
function keysOf(order: (typeof key_orders)[number], turn: number): number[] {
  const count = Math.floor(table_rows / share);
  if (order === 'side by side')
    return Array.from({ length: count }, (_, index) => turn * count + index + 1);
  const spread = Array.from({ length: count }, (_, index) => index * share + (turn % share) + 1);
  return shuffle(spread);
}

function shuffle(keys: number[]): number[] {
  const random = openRandom(7, keys[0]!);
  for (let at = keys.length - 1; at > 0; at -= 1) {
    const other = random.between(0, at);
    [keys[at], keys[other]] = [keys[other]!, keys[at]!];
  }
  return keys;
}

async function deliver(
  { definition, config, deps }: MergePlace,
  bytes: Buffer,
  records: number,
): Promise<void> {
  const delivery = freshDelivery({ columns, merge });
  const sink = await definition.open(config, delivery, deps);
  try {
    await sink.recover([]);
    const slice = { number: 0, records, is_last: true } as const;
    const written = await sink.write(slice, Readable.from(piecesOf(bytes)));
    const outcome = { ...slice, bytes: bytes.length, sha256: '', ...written };
    await sink.commit([outcome], { name: 'manifest', text: '{}' });
  } finally {
    await sink.close();
  }
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 262_144) yield bytes.subarray(at, at + 262_144);
}

type Turn = { seconds: number; processor: number; rows: number; bytes: number };

async function measured(to: MergedPlace, work: () => Promise<unknown>): Promise<Turn> {
  await to.settle();
  const before = await to.written();
  const used = processorTime(process.pid, 'with children');
  const took = await seconds(work);
  const processor = (processorTime(process.pid, 'with children') - used) / 1e6;
  const after = await to.written();
  return {
    seconds: took,
    processor,
    rows: after.rows - before.rows,
    bytes: after.bytes - before.bytes,
  };
}

async function compare(name: string, to: MergedPlace, order: (typeof key_orders)[number]) {
  const ways = ['ours', ...Object.keys(to.own)];
  const turns = Object.fromEntries(ways.map((way) => [way, [] as Turn[]]));
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const way of ways.map((_, at) => ways[(at + round) % ways.length]!)) {
      turn += 1;
      const changed = new Date(Date.UTC(2026, 1, 1) + turn * 1_000).toISOString();
      const rows = rowsOf(keysOf(order, turn), changed.replace('Z', '000Z'));
      const lines = rows.map((row) => `${row.join('\t')}\n`).join('');
      const bytes = to.place.encode(rows, columns);
      const work = () =>
        way === 'ours' ? deliver(to.place, bytes, rows.length) : to.own[way]!(rows, lines, bytes);
      turns[way]!.push(await measured(to, work));
      const changed_rows = await to.count(changed);
      if (changed_rows !== rows.length)
        throw new Error(`${name}, ${way}: ${changed_rows} rows changed, not ${rows.length}`);
    }
  show(`${name}, ${order}`, turns);
}

/** Prints the time of each way, and reports ours beside the fastest hand-written one. */
function show(where: string, turns: Record<string, Turn[]>): void {
  const middle = (way: string, value: (one: Turn) => number) => median(turns[way]!.map(value));
  for (const way of Object.keys(turns))
    console.log(
      `  ${where}, ${way}: ${middle(way, (one) => one.seconds).toFixed(2)} s, processor ` +
        `${middle(way, (one) => one.processor).toFixed(2)} s, ` +
        `${middle(way, (one) => one.rows)} rows, ` +
        `${(middle(way, (one) => one.bytes) / 1e6).toFixed(1)} MB`,
    );
  const [best] = Object.keys(turns)
    .filter((way) => way !== 'ours')
    .toSorted(
      (one, other) =>
        middle(one, ({ seconds: took }) => took) - middle(other, ({ seconds: took }) => took),
    );
  const of = (way: string, value: (one: Turn) => number) => turns[way]!.map(value);
  tell({
    what: `Change 1 % of ${table_rows.toLocaleString('en')} rows in ${where}`,
    unit: 's',
    better: 'less',
    ours: of('ours', (one) => one.seconds),
    beside: { name: best!, rounds: of(best!, (one) => one.seconds) },
    processor: {
      ours: of('ours', (one) => one.processor),
      beside: of(best!, (one) => one.processor),
    },
    aim: { ratio: 0.9 },
  });
}

let turn = 0;
for (const [name, open] of Object.entries(openers)) {
  if (options.way !== '' && options.way !== name) continue;
  const to = await open();
  try {
    // The product creates the table, with a row that no turn counts.
    const row = rowsOf([0], '2025-01-01T00:00:00.000000Z');
    await deliver(to.place, to.place.encode(row, columns), row.length);
    const took = await seconds(() => to.fill(table_rows));
    console.log(`${name}: filled in ${took.toFixed(0)} s`);
    turn = 0;
    for (const order of key_orders) await compare(name, to, order);
  } finally {
    await to.close();
  }
}
