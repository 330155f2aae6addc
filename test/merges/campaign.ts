import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { canonicalValue } from '../../server/engine/destinations/contents/canonical.ts';
import { textsQuery } from '../../server/engine/destinations/sql_tables/prepare.ts';
import type {
  ContentSource,
  ValueRow,
} from '../../server/engine/model/destination/content_source.ts';
import type { Slice, SliceOutcome } from '../../server/engine/model/destination/destination.ts';
import { openRandom } from '../chaos/random.ts';
import type { Random } from '../chaos/random.ts';
import { planRound, shuffled } from './histories.ts';
import type { Accident, PlannedDelivery } from './histories.ts';
import { columns, greatest, keyOf, merge } from './model.ts';
import type { MergePlace, MergeStore } from './stores.ts';

/** The size of a campaign, and what it says as it goes. */
export type Campaign = {
  seed: number;
  histories: number;
  /** Number of histories in one table. */
  keys: number;
  say(line: string): void;
};

const attempts_max = 8;

/**
 * Plays histories into two tables of a store, in two orders and with different accidents. Each
 * table must be as the model says, and both the same. Gives the number of delivered rows.
 */
export async function playHistories(
  store: MergeStore,
  { seed, histories, keys, say }: Campaign,
): Promise<number> {
  let delivered = 0;
  for (let done = 0, round = 0; done < histories; done += keys, round += 1) {
    const random = openRandom(seed, round);
    const planned = planRound(random, Math.min(keys, histories - done));
    const tables: Map<string, string>[] = [];
    for (const side of [0, 1] as const) {
      const place = await store.open();
      // The tables share their receipts.
      const own = planned.map((one) => {
        const delivery_id = randomUUID();
        return { ...one, delivery: { ...one.delivery, delivery_id, run_id: delivery_id } };
      });
      try {
        await playAll(store, place, random, shuffled(random, own), side);
        const rows = await readRows(place);
        const where = `${store.name}, seed ${seed}, round ${round}, table ${side + 1}`;
        tables.push(compare(where, own, rows));
        await verify(where, place, own);
      } finally {
        await place.close();
      }
    }
    assert.deepEqual(
      tables[0],
      tables[1],
      `${store.name}, seed ${seed}, round ${round}: the order`,
    );
    delivered += planned.reduce((sum, { slices }) => sum + slices.flat().length, 0);
    say(`${store.name}: ${Math.min(done + keys, histories)} of ${histories} histories`);
  }
  return delivered;
}

/** Delivers some at once; an accident that takes over the next COMMIT happens alone. */
async function playAll(
  store: MergeStore,
  place: MergePlace,
  random: Random,
  planned: PlannedDelivery[],
  side: 0 | 1,
): Promise<void> {
  const left = [...planned];
  while (left.length > 0) {
    const together = left.splice(0, random.between(1, 2));
    const isAlone = together.some(({ accidents }) => accidents[side] === 'unheard');
    const play = (one: PlannedDelivery) => deliver(store, place, one, one.accidents[side]);
    if (isAlone) for (const one of together) await play(one);
    else await Promise.all(together.map(play));
  }
}

async function deliver(
  store: MergeStore,
  place: MergePlace,
  planned: PlannedDelivery,
  accident: Accident,
): Promise<void> {
  if (place.deliver !== undefined) return place.deliver(planned.slices.flat());
  const outcomes: SliceOutcome[] = [];
  let breaks = accident === 'broken' ? 1 : 0;
  if (accident === 'unheard') store.loseNextAnswer();
  for (let attempt = 1; ; attempt += 1) {
    try {
      await attemptAt(place, planned, { attempt, outcomes, breaks: breaks-- > 0 });
      break;
    } catch (error) {
      if (attempt === attempts_max) throw error;
    }
  }
  store.loseNoAnswer();
  if (accident === 'repeated')
    await attemptAt(place, planned, { attempt: attempts_max + 1, outcomes, breaks: false });
}

/** One worker's attempt; a worker that dies leaves what it has staged. */
async function attemptAt(
  { definition, config, deps, encode }: MergePlace,
  { delivery, slices }: PlannedDelivery,
  given: { attempt: number; outcomes: SliceOutcome[]; breaks: boolean },
): Promise<void> {
  const { attempt, outcomes, breaks } = given;
  const sink = await definition.open(config, { ...delivery, attempt }, deps);
  try {
    if (await sink.isCommitted()) return;
    const kept = await sink.recover(outcomes);
    outcomes.splice(0, outcomes.length, ...kept);
    for (const [index, rows] of slices.entries()) {
      if (outcomes.some((outcome) => outcome.number === index)) continue;
      const bytes = encode(rows);
      const slice: Slice = { number: index, records: rows.length };
      if (index === slices.length - 1) slice.is_last = true;
      const written = await sink.write(slice, Readable.from([bytes]));
      outcomes.push({
        number: index,
        records: rows.length,
        bytes: bytes.length,
        sha256: '',
        ...written,
      });
      if (breaks && index === 0) throw new Error('The worker dies.');
    }
    outcomes.sort((one, other) => one.number - other.number);
    await sink.commit(outcomes, { name: 'manifest', text: `{"id":"${delivery.delivery_id}"}` });
  } finally {
    await sink.close();
  }
}

async function readRows(place: MergePlace): Promise<ValueRow[]> {
  const dialect = await place.speak();
  try {
    const found = (await dialect.findColumns(dialect.target.table)) ?? [];
    const relation = dialect.merged ?? dialect.target.quoted;
    const layout = { model: 'events' as const, columns, merge };
    const read = await dialect.openTexts(
      textsQuery(dialect, relation, layout, found),
      columns.length,
    );
    return await Array.fromAsync(read());
  } finally {
    await dialect.close();
  }
}

const textOf = (row: ValueRow) =>
  JSON.stringify(columns.map(({ type }, index) => canonicalValue(type, row[index] ?? null)));

function compare(
  where: string,
  planned: PlannedDelivery[],
  found: ValueRow[],
): Map<string, string> {
  const expected = greatest(planned.flatMap(({ slices }) => slices.flat()));
  const table = new Map(found.map((row) => [keyOf(row), textOf(row)]));
  assert.equal(found.length, expected.size, `${where}: one row of each key`);
  for (const [key, rows] of expected)
    assert.ok(
      rows.some((row) => textOf(row) === table.get(key)),
      `${where}: the row of ${key} is ${table.get(key)}, not ${rows.map(textOf).join(' or ')}`,
    );
  return table;
}

/** The product's own comparison must find no difference either. */
async function verify(where: string, place: MergePlace, planned: PlannedDelivery[]): Promise<void> {
  if (place.deliver !== undefined) return;
  const rows = new Map(planned.map((one) => [one.delivery.delivery_id, one.slices.flat()]));
  const source: ContentSource = {
    rows: (id) => Readable.from(rows.get(id)!),
    isWhole: async () => true,
    contents: () => ({ selection: [], columns: [], slices: [] }),
    note: (sentence) => assert.fail(`${where}: ${sentence}`),
    onRow: () => undefined,
  };
  const delivered = planned.map(({ delivery, slices }) => ({
    delivery,
    outcomes: slices.map((one, number) => ({
      number,
      name: '',
      records: one.length,
      bytes: 0,
      sha256: '',
      state: null,
    })),
    manifest: `{"id":"${delivery.delivery_id}"}`,
  }));
  const { definition, config, deps } = place;
  assert.deepEqual(await definition.verify(config, delivered, source, deps), [], where);
}
