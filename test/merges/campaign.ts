import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { canonicalValue } from '../../server/engine/destinations/contents/canonical.ts';
import { textsQuery } from '../../server/engine/destinations/sql_tables/prepare.ts';
import type {
  ContentSource,
  ValueRow,
} from '../../server/engine/model/destination/content_source.ts';
import { openRandom } from '../chaos/random.ts';
import type { Random } from '../chaos/random.ts';
import { freshDelivery } from '../factories/batch_exports/deliveries.ts';
import { deliver, killSome, manifestOf } from './deliver.ts';
import type { Played, Sending } from './deliver.ts';
import { planRound, shuffled } from './histories.ts';
import type { PlannedDelivery, Round } from './histories.ts';
import { greatest, keyOf } from './model.ts';
import type { MergedTable } from './model.ts';
import type { MergePlace, MergeStore } from './stores.ts';

/** The size of a campaign, and its progress output. */
export type Campaign = {
  seed: number;
  histories: number;
  /** Number of histories in one table. */
  keys: number;
  say(line: string): void;
};

/** One round in one store. */
type Scene = { store: MergeStore; round: Round; random: Random; where: string; played: Played };

/**
 * Plays histories into tables of a store: each round into two tables in two orders and with
 * different accidents, and some again by another key. Each table must equal the model, and both
 * must be equal. Returns the played history.
 */
export async function playHistories(
  store: MergeStore,
  { seed, histories, keys, say }: Campaign,
): Promise<Played> {
  const played: Played = {
    histories: 0,
    tables: 0,
    key_changes: 0,
    deliveries: 0,
    rows: 0,
    kills: 0,
    killed: 0,
    broken: 0,
    unheard: 0,
    unsent: 0,
    repeated: 0,
  };
  for (let number = 0; played.histories < histories; number += 1) {
    const random = openRandom(seed, number);
    const size = Math.min(keys, histories - played.histories);
    const round = planRound(random, number, size);
    const where = `${store.name}, seed ${seed}, round ${number}`;
    await playRound({ store, round, random, where, played });
    played.histories += size;
    say(`${store.name}: ${JSON.stringify(played)}`);
  }
  return played;
}

async function playRound({ where, ...rest }: Scene): Promise<void> {
  const { round, played } = rest;
  const inOrder = (side: number) =>
    playTable({ ...rest, where: `${where}, table ${side + 1}` }, round.table, side);
  const tables = [await inOrder(0), await inOrder(1)];
  assert.deepEqual(tables[0], tables[1], `${where}: the order`);
  if (round.changed === undefined) return;
  // A new key starts with another table and a backfill of everything.
  await playTable({ ...rest, where: `${where}, another key` }, round.changed, 2);
  played.key_changes += 1;
}

/** Delivers all rows of the round to a new table, and returns the table's rows by key. */
async function playTable(
  scene: Scene,
  table: MergedTable,
  side: number,
): Promise<Map<string, string>> {
  const place = await scene.store.open();
  const { where, round } = scene;
  try {
    const sendings = await playAll(scene, place, table, side);
    const found = compare(where, table, round, await readRows(place, table));
    if (place.deliver === undefined) await verify(where, place, sendings);
    return found;
  } finally {
    await place.close();
  }
}

async function playAll(
  { store, round, random, played }: Scene,
  place: MergePlace,
  table: MergedTable,
  side: number,
): Promise<Sending[]> {
  // The tables share their receipts.
  const sendings = round.deliveries.map((one): Sending => {
    const { batch_export_id, slices, accidents } = one;
    const delivery = freshDelivery({ batch_export_id, ...table.layout });
    return { delivery, slices, accident: accidents[side]!, known: undefined };
  });
  const left = shuffled(random, sendings);
  while (left.length > 0) {
    const together = left.splice(0, random.between(1, 2));
    // One process starts all the processes to kill, once the first of them is needed.
    const begun = [...together, ...left].filter(
      ({ accident, known }) => accident === 'killed' && known === undefined,
    );
    if (place.deliver === undefined && together.some((one) => begun.includes(one)))
      await killSome(place, random, begun, played);
    // An accident that takes over the next COMMIT happens alone.
    const isAlone = together.some(({ accident }) => accident.startsWith('un'));
    const play = (one: Sending) => deliver(store, place, table, one, random, played);
    if (isAlone) for (const one of together) await play(one);
    else await Promise.all(together.map(play));
  }
  played.tables += 1;
  played.deliveries += sendings.length;
  played.rows += sendings.reduce((sum, { slices }) => sum + slices.flat().length, 0);
  return sendings;
}

async function readRows(place: MergePlace, { layout }: MergedTable): Promise<ValueRow[]> {
  const dialect = await place.speak();
  try {
    const found = (await dialect.findColumns(dialect.target.table)) ?? [];
    const relation = dialect.merged ?? dialect.target.quoted;
    const query = textsQuery(dialect, relation, layout, found);
    const read = await dialect.openTexts(query, layout.columns.length);
    return await Array.fromAsync(read());
  } finally {
    await dialect.close();
  }
}

function compare(
  where: string,
  table: MergedTable,
  { deliveries, last }: Round,
  found: ValueRow[],
): Map<string, string> {
  const { columns } = table.layout;
  const textOf = (row: ValueRow) =>
    JSON.stringify(columns.map(({ type }, index) => canonicalValue(type, row[index] ?? null)));
  const expected = greatest(table, rowsOf(deliveries));
  const rows = new Map(found.map((row) => [keyOf(table, row), textOf(row)]));
  assert.equal(found.length, expected.size, `${where}: one row of each key`);
  for (const [key, wanted] of expected)
    assert.ok(
      wanted.some((row) => textOf(row) === rows.get(key)),
      `${where}: the row of ${key} is ${rows.get(key)}, not ${wanted.map(textOf).join(' or ')}`,
    );
  for (const [key, row] of last)
    assert.equal(rows.get(key), textOf(row), `${where}: ${key} is as its history ended`);
  return rows;
}

function rowsOf(deliveries: Pick<PlannedDelivery, 'slices'>[]): ValueRow[] {
  return deliveries.flatMap(({ slices }) => slices.flat());
}

/** The product's own comparison must find no difference either. */
async function verify(
  where: string,
  { definition, config, deps }: MergePlace,
  sendings: Sending[],
): Promise<void> {
  const rows = new Map(sendings.map((one) => [one.delivery.delivery_id, one.slices.flat()]));
  const source: ContentSource = {
    rows: (id) => Readable.from(rows.get(id)!),
    isWhole: async () => true,
    contents: () => ({ selection: [], columns: [], slices: [] }),
    findBroughtAgain: async () => new Set(),
    note: (sentence) => assert.fail(`${where}: ${sentence}`),
    onRow: () => undefined,
  };
  const delivered = sendings.map(({ delivery, slices }) => ({
    delivery,
    outcomes: slices.map((one, number) => ({
      number,
      name: '',
      records: one.length,
      bytes: 0,
      sha256: '',
      state: null,
    })),
    manifest: manifestOf(delivery),
  }));
  assert.deepEqual(await definition.verify(config, delivered, source, deps), [], where);
}
