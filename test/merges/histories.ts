import { randomUUID } from 'node:crypto';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Delivery } from '../../server/engine/model/destination/destination.ts';
import type { Random } from '../chaos/random.ts';
import { freshDelivery } from '../factories/batch_exports/deliveries.ts';
import { columns, merge } from './model.ts';

/** The fate of an attempt: it ends early, or nobody hears of its end. */
export type Accident = 'none' | 'broken' | 'repeated' | 'unheard';

/** A delivery with the rows of its slices, and what happens to it in each of two tables. */
export type PlannedDelivery = {
  delivery: Delivery;
  slices: ValueRow[][];
  accidents: [Accident, Accident];
};

/** Keys that some collation, or a careless comparison, takes for one. */
const shops = ['a', 'A', 'a ', 'ä', '', 'a\\'];
const instants = [
  null,
  '2026-01-02T03:04:05.000001Z',
  '2026-01-02T03:04:05.000002Z',
  '1969-12-31T23:59:59.999999Z',
];
const revisions = [null, '0', '-1', '2', '10', '9223372036854775807', '-9223372036854775808'];
const names = [null, '', 'a', 'A', 'a ', 'NULL', '\\N', 'tab\there', '🙂'];
const totals = [null, '0', '0.5', '-1', '100'];
const properties = ['{}', '{"a":1}', '{"a":"1"}', '{"b":[1,2]}'];

/**
 * Plans a round: histories of so many keys, in deliveries of two exports to one table. Rows come
 * late, twice, deleted, with equal versions and without versions, and a key more than once in one
 * delivery.
 */
export function planRound(random: Random, keys: number): PlannedDelivery[] {
  const deliveries = Array.from({ length: random.between(3, 7) }, (): ValueRow[] => []);
  for (let key = 0; key < keys; key += 1) {
    const versions = random.between(1, 6);
    for (let count = 0; count < versions; count += 1) {
      const row = rowOf(random, key);
      random.one(deliveries).push(row);
      if (random.next() < 0.2) random.one(deliveries).push(row);
    }
  }
  const exports = [randomUUID(), randomUUID()];
  return deliveries
    .filter((rows) => rows.length > 0)
    .map((rows) => ({
      delivery: freshDelivery({ columns, merge, batch_export_id: random.one(exports) }),
      slices: slicesOf(random, rows),
      accidents: [accident(random), accident(random)],
    }));
}

function rowOf(random: Random, key: number): ValueRow {
  return [
    random.one(names),
    shops[key % shops.length]!,
    random.one(revisions),
    String(Math.floor(key / shops.length)),
    random.one(instants),
    random.one(totals),
    random.one(properties),
    String(random.next() < 0.2),
  ];
}

function slicesOf(random: Random, rows: ValueRow[]): ValueRow[][] {
  const count = Math.min(rows.length, random.between(1, 3));
  const size = Math.ceil(rows.length / count);
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, index) =>
    rows.slice(index * size, (index + 1) * size),
  );
}

function accident(random: Random): Accident {
  const chance = random.next();
  if (chance < 0.6) return 'none';
  return random.one(['broken', 'repeated', 'unheard'] as const);
}

/** The same items in another order. */
export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const left = [...items];
  return items.map(() => left.splice(random.between(0, left.length - 1), 1)[0]!);
}
