import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import type { Draw } from '../../../test/factories/events/generated_json.ts';
import { openDeltaTable } from '../../../server/engine/exports/lake_maintenance/delta/delta_table.ts';
import { maintainDeltaTable } from '../../../server/engine/exports/lake_maintenance/delta/delta_work.ts';
import { verifyExports } from '../../../server/engine/exports/verification/verify_exports.ts';
import type { Reading, Row, startDeltaPeer } from './peer.ts';

type Peer = Awaited<ReturnType<typeof startDeltaPeer>>;
type Sent = { id: string; event: string; micros: bigint; version: number };

const query =
  'SELECT distinct_id AS id, event, timestamp, toInt(properties.version) AS version FROM events';
const exports = {
  merged: { custom_query: query, mode: 'merge', primary_key: ['id'], version_key: ['version'] },
  replaced: {
    custom_query: 'SELECT distinct_id AS id, count() AS events FROM events GROUP BY distinct_id',
    mode: 'replace',
  },
  parted: { custom_query: query },
} as const;
type Table = keyof typeof exports;
const tables = Object.keys(exports) as Table[];
const layouts = {
  merged: { partition_by: ['bucket(4, id)'] },
  replaced: {},
  parted: {
    partition_by: ['day(timestamp)', 'hour(timestamp)', 'event'],
    sort_by: ['timestamp desc'],
  },
};
/** Different keys, and rows of each round. */
const [keys, rows_per_round] = [25, 20];

/**
 * Merges, replaces and partitions tables, hour by hour. Meanwhile delta-rs appends to them, updates
 * rows, merges and compacts, and Sluice compacts too. Every reader must see the rows of a model in
 * plain code. Calls `judge` for each reading with the expected rows.
 */
export async function playModes(
  peer: Peer,
  { draw, rounds }: { draw: Draw; rounds: number },
  judge: (reading: Reading, table: string, expected: Row[]) => void,
): Promise<string[]> {
  const exporting = await openQueryHarness();
  const { engine } = exporting.harness.deps;
  const wrong: string[] = [];
  const model = openModel();
  try {
    const home = await exporting.harness.newOrganization();
    const folderOf = (table: string) =>
      join(exporting.folder, 'delta', String(home.project.id), table);
    const ids = await createExports(exporting, home);
    for (let hour = 1; hour <= rounds; hour += 1) {
      const sent = Array.from({ length: rows_per_round }, (_, n) => eventOf(draw, hour, n));
      await exporting.insert(home, sent.map(storedOf));
      model.take(sent);
      for (const table of tables) {
        await exporting.extend(ids[table], hour);
        const failed = (await exporting.runAll(ids[table])).find(
          ({ status }) => status === 'Failed',
        );
        if (failed !== undefined) wrong.push(`${table}: ${failed.latest_error}`);
        const expected = model.rowsOf(table);
        for (const reading of await peer.read(folderOf(table))) judge(reading, table, expected);
        for (const { differences } of await verifyExports(engine, ids[table]))
          if (table !== 'merged' || !model.isForeign())
            wrong.push(...differences.map(({ detail, name }) => `${table} ${name}: ${detail}`));
      }
      if (hour % 2 === 0) await compact(engine, ids.parted);
      const id = `k${draw(keys)}`;
      await peer.update(folderOf('merged'), id, 'of another');
      model.update(id, 'of another');
      const added = eventOf(draw, hour, rows_per_round);
      await peer.add(folderOf('parted'), added);
      model.add(added);
    }
    for (const table of tables)
      for (const reading of await peer.read(folderOf(table)))
        judge(reading, table, model.rowsOf(table));
    return wrong;
  } finally {
    await exporting.close();
  }
}

type Exporting = Awaited<ReturnType<typeof openQueryHarness>>;

/** Creates the exports; returns the id of each. */
async function createExports(exporting: Exporting, home: Parameters<Exporting['scheduled']>[0]) {
  const ids = {} as Record<Table, string>;
  for (const table of tables) {
    const config = { storage: 'File', table, ...layouts[table] };
    const body = { name: table, destination: { type: 'Delta', config }, ...exports[table] };
    ids[table] = (await exporting.scheduled(home, body, 1)).id;
  }
  return ids;
}

function storedOf({ id, event, micros, version }: Sent) {
  const at = new Date(Number(micros / 1_000n)).toISOString();
  return { distinct_id: id, event, properties: { version }, at };
}

async function compact(engine: Exporting['harness']['deps']['engine'], id: string) {
  const opened = await openDeltaTable(engine, id, randomUUID(), new AbortController().signal);
  await maintainDeltaTable(opened!, { is_daily: true, cleans: true });
}

function eventOf(draw: Draw, hour: number, n: number): Sent {
  const names = ['order paid', 'ä/b %=1', "it's", 'x'];
  const micros = BigInt(Date.UTC(2026, 0, 1, hour - 1, n)) * 1_000n;
  // Versions go up and down, and no two are equal.
  const version = draw(1_000) * 10_000 + hour * 100 + n;
  return { id: `k${draw(keys)}`, event: names[draw(names.length)]!, micros, version };
}

/** The expected tables. */
function openModel() {
  const newest = new Map<string, Sent>();
  const counts = new Map<string, number>();
  const all: Sent[] = [];
  const foreign: Sent[] = [];
  let is_foreign = false;
  const rowOf = ({ id, event, micros, version }: Sent): Row => ({
    id,
    event,
    timestamp: String(micros),
    version: String(version),
  });
  return {
    take: (sent: Sent[]) => {
      all.push(...sent);
      for (const one of sent) {
        counts.set(one.id, (counts.get(one.id) ?? 0) + 1);
        const there = newest.get(one.id);
        if (there === undefined || there.version < one.version) newest.set(one.id, one);
      }
    },
    update: (id: string, event: string) => {
      const there = newest.get(id);
      if (there === undefined) return;
      is_foreign = true;
      newest.set(id, { ...there, event });
    },
    add: (one: Sent) => void foreign.push(one),
    isForeign: () => is_foreign,
    rowsOf: (table: Table): Row[] => {
      if (table === 'merged') return [...newest.values()].map(rowOf);
      if (table === 'parted')
        return [...all, ...foreign].map((one) => {
          const at = new Date(Number(one.micros / 1_000n)).toISOString();
          const timestamp_hour = at.slice(0, 13).replace('T', '-');
          return { ...rowOf(one), timestamp_day: at.slice(0, 10), timestamp_hour };
        });
      return [...counts].map(([id, events]) => ({ id, events: String(events) }));
    },
  };
}
