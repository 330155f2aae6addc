import { hash } from 'node:crypto';
import { counted } from '../../../../platform/counted.ts';
import type { ContentSource } from '../../../model/destination/content_source.ts';
import type { DeliveredSlices, Delivery, Seal } from '../../../model/destination/destination.ts';
import { named_strangers_max, stranger_detail } from '../../../model/destination/difference.ts';
import type { Difference } from '../../../model/destination/difference.ts';
import { around, isWithin, numberOfArea } from './areas.ts';
import type { Area, AreaWords, NumberedArea } from './areas.ts';
import type { Dialect } from '../dialect.ts';
import type { FoundColumn } from '../fitting.ts';
import { hasInstants, hasOwn, keyColumn } from '../layout.ts';
import { receiptsOf } from '../receipts.ts';

/** Returns the areas of deliveries, numbered in order. */
export function numberedAreas(delivered: DeliveredSlices[], source: ContentSource): NumberedArea[] {
  return delivered.flatMap(({ delivery }, number) =>
    source.contents(delivery.delivery_id).selection.map((side) => ({
      event_from: side.event_from ?? -Infinity,
      event_to: side.event_to ?? Infinity,
      inserted_from: side.inserted_from ?? -Infinity,
      inserted_to: side.inserted_to ?? Infinity,
      number,
    })),
  );
}

/** Returns a dialect's SQL for areas. The dialect must support seals. */
export function areaWords({ quoted, sealing }: Dialect): AreaWords {
  const { instant } = sealing!;
  return { event: quoted('timestamp'), inserted: quoted('inserted_at'), instant };
}

/**
 * Lets the server count and hash the rows of each delivery in one query: 50 bytes of an answer for
 * each, whatever its rows. Undefined if rows do not identify their delivery. In a table of several
 * exports, only rows of the project count, and another export may have more of them.
 */
export async function sealTable(
  dialect: Dialect,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Map<string, Seal> | undefined> {
  const { target, sealing } = dialect;
  const [first] = delivered;
  if (first === undefined || sealing === undefined || !hasInstants(first.delivery))
    return undefined;
  const { batch_export_id, columns } = first.delivery;
  const receipts = receiptsOf(dialect);
  const all = (text: string) =>
    new Map(
      delivered.map(
        ({ delivery }) => [delivery.delivery_id, { text, isExpected: () => false }] as const,
      ),
    );
  if (!(await receipts.isThere())) return all('no receipts');
  const found = await dialect.findColumns(target.table);
  if (found === undefined) return all('no table');
  const is_shared = (await receipts.ofAnother(batch_export_id)) !== undefined;
  const types = typesOf(columns, found);
  if (types === undefined) return all('no column');
  if (['timestamp', 'inserted_at'].some((name) => !sealing.instants.test(types.get(name)!)))
    return undefined;
  const held = new Set((await receipts.ofExport(batch_export_id)).map((one) => one.delivery_id));
  const sums = await sumsOf(dialect, delivered, source, { types, is_shared });
  const form = hash('md5', JSON.stringify(columns.map(({ name }) => [name, types.get(name)])));
  return new Map(
    delivered.map(({ delivery: { delivery_id } }, number) => {
      const { rows, sum } = sums.get(number) ?? { rows: 0, sum: '0' };
      const wanted = source
        .contents(delivery_id)
        .slices.reduce((records, slice) => records + slice.records, 0);
      const has_receipt = held.has(delivery_id);
      const text = `${rows} ${sum} ${form}${has_receipt ? '' : ' no receipt'}`;
      const is_whole = is_shared ? rows >= wanted : rows === wanted;
      return [delivery_id, { text, isExpected: () => has_receipt && is_whole }];
    }),
  );
}

/** Returns the types of the delivery's columns in the table, by name; undefined if one is gone. */
function typesOf(
  columns: Delivery['columns'],
  found: FoundColumn[],
): Map<string, string> | undefined {
  const exact = new Map(found.map(({ name, type }) => [name, type]));
  const folded = new Map(found.map(({ name, type }) => [name.toLowerCase(), type]));
  const types = new Map<string, string>();
  for (const { name } of columns) {
    const type = exact.get(name) ?? folded.get(name.toLowerCase());
    if (type === undefined) return undefined;
    types.set(name, type);
  }
  return types;
}

async function sumsOf(
  dialect: Dialect,
  delivered: DeliveredSlices[],
  source: ContentSource,
  { types, is_shared }: { types: ReadonlyMap<string, string>; is_shared: boolean },
): Promise<Map<number, { rows: number; sum: string }>> {
  const { quoted, sealing, target } = dialect;
  const words = areaWords(dialect);
  const areas = numberedAreas(delivered, source);
  const { columns: own, team_id } = delivered[0]!.delivery;
  const columns = own.map(({ name }) => ({ quoted: quoted(name), type: types.get(name)! }));
  const ofTeam =
    is_shared && hasOwn(own, 'team_id') ? ` AND ${quoted('team_id')} = ${team_id}` : '';
  const [number, row, rows, total] = ['n', 'h', 'c', 's'].map(quoted);
  const summed = await dialect.rows<{ n: unknown; c: unknown; s: unknown }>(
    `SELECT ${number}, count(*) AS ${rows}, sum(${row}) AS ${total}\n` +
      `FROM (SELECT ${numberOfArea(words, areas)} AS ${number}, ` +
      `${sealing!.hashOf(columns)} AS ${row}\nFROM ${target.quoted}\n` +
      `WHERE ${isWithin(words, around(areas))}${ofTeam}) ${quoted('sealed')}\n` +
      `WHERE ${number} >= 0\nGROUP BY ${number}`,
  );
  return new Map(
    summed.map(({ n, c, s }) => [Number(n), { rows: Number(c), sum: String(s) }] as const),
  );
}

/**
 * Names rows outside all areas: no delivery wrote them. In a table of several exports, they may
 * belong to another one.
 */
export async function findStrangers(
  dialect: Dialect,
  delivery: Delivery,
  areas: Area[],
): Promise<Difference[]> {
  if ((await receiptsOf(dialect).ofAnother(delivery.batch_export_id)) !== undefined) return [];
  const { quoted, target, textOf } = dialect;
  const words = areaWords(dialect);
  const key = keyColumn(delivery);
  const column = delivery.columns.find(({ name }) => name === key);
  const isOutside =
    areas.length === 0
      ? '1 = 1'
      : `(${numberOfArea(
          words,
          areas.map((area, number) => ({ ...area, number })),
        )}) < 0`;
  const shown = column === undefined ? `'?'` : textOf(column, quoted(column.name), undefined);
  const from = `FROM ${target.quoted}\nWHERE ${isOutside}`;
  const named = await dialect.rows<{ k: unknown }>(
    `SELECT ${shown} AS ${quoted('k')}\n${from}\nLIMIT ${named_strangers_max + 1}`,
  );
  const { name } = target;
  const differences = named.slice(0, named_strangers_max).map(({ k }): Difference => {
    const text = String(k);
    const row = column === undefined ? name : `${name} ${column.name}=${text}`;
    return {
      kind: 'added',
      name: row,
      detail: stranger_detail,
      ...(column === undefined ? {} : { key: text }),
    };
  });
  if (named.length > named_strangers_max) {
    const [all] = await dialect.rows<{ c: unknown }>(`SELECT count(*) AS ${quoted('c')}\n${from}`);
    const more = Number(all?.c) - named_strangers_max;
    const detail = `${counted(more, 'more row')} outside any delivery.`;
    differences.push({ kind: 'added', name, detail, rows: more });
  }
  return differences;
}
