import { randomUUID } from 'node:crypto';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Random } from '../chaos/random.ts';
import { keyOf, orders, orders_by_number, persons } from './model.ts';
import type { MergedTable } from './model.ts';
import { personHistory } from './persons.ts';

/**
 * The fate of an attempt: it ends early, its worker is killed, its end stays unknown, its commit
 * never arrives, or it is repeated.
 */
export type Accident = 'none' | 'broken' | 'killed' | 'unheard' | 'unsent' | 'repeated';

/** A delivery with the rows of its slices, and its fate in each of the tables. */
export type PlannedDelivery = {
  batch_export_id: string;
  slices: ValueRow[][];
  accidents: Accident[];
};

/** Histories that share a table, in deliveries of two exports. */
export type Round = {
  table: MergedTable;
  /** The table after a change of its key and another delivery of everything. */
  changed: MergedTable | undefined;
  deliveries: PlannedDelivery[];
  /** The row that each key must have at the end, if a history knows it. */
  last: Map<string, ValueRow>;
};

/** The tables of a round: two in two orders, and one after a change of the key. */
const tables = 3;

/** Keys that some collation, or a careless comparison, treats as equal. */
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

/** Keys of moved rows start here. */
const moved_from = 1_000_000_000;

/**
 * Plans this many histories in one table. Rows come late, twice, deleted, with equal versions and
 * without versions, and a key more than once in one delivery. Every third round is about persons,
 * who are merged.
 */
export function planRound(random: Random, round: number, histories: number): Round {
  const of = Array.from({ length: random.between(3, 7) }, (): ValueRow[] => []);
  const last = new Map<string, ValueRow>();
  const isOfPersons = round % 3 === 2;
  for (let number = 0; number < histories; number += 1) {
    const history = isOfPersons
      ? personHistory(random, number)
      : { rows: orderHistory(random, number), last: [] };
    for (const row of history.rows) {
      random.one(of).push(row);
      if (random.next() < 0.2) random.one(of).push(row);
    }
    for (const row of history.last) last.set(keyOf(persons, row), row);
  }
  const exports = [randomUUID(), randomUUID()];
  const deliveries = of
    .filter((rows) => rows.length > 0)
    .map((rows) => ({
      batch_export_id: random.one(exports),
      slices: slicesOf(random, rows),
      accidents: Array.from({ length: tables }, () => accident(random)),
    }));
  return {
    table: isOfPersons ? persons : orders,
    changed: isOfPersons || random.next() < 0.5 ? undefined : orders_by_number,
    deliveries,
    last,
  };
}

/** The rows of one order, which may move to another key. */
function orderHistory(random: Random, number: number): ValueRow[] {
  const rows = Array.from({ length: random.between(1, 6) }, () => rowOf(random, number));
  if (random.next() < 0.15)
    rows.push(rowOf(random, number, 'true'), rowOf(random, moved_from + number));
  return rows;
}

function rowOf(random: Random, key: number, is_deleted = String(random.next() < 0.2)): ValueRow {
  return [
    random.one(names),
    shops[key % shops.length]!,
    random.one(revisions),
    String(Math.floor(key / shops.length)),
    random.one(instants),
    random.one(totals),
    random.one(properties),
    is_deleted,
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
  if (random.next() < 0.4) return 'none';
  return random.one(['broken', 'killed', 'unheard', 'unsent', 'repeated'] as const);
}

/** Returns the same items in another order. */
export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const left = [...items];
  return items.map(() => left.splice(random.between(0, left.length - 1), 1)[0]!);
}
