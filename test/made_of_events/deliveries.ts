import assert from 'node:assert/strict';
import type pg from 'pg';
import { mergeStatement, tableStatement } from '../../server/engine/destinations/postgres/table.ts';
import { every_event } from '../../server/engine/model/models/event_filter.ts';
import type { Model } from '../../server/engine/model/models/model.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { Random } from '../chaos/random.ts';
import { instantOf } from './stores.ts';

/** A row as text, with null for missing values; instants are microseconds. */
export type TextRow = Record<string, string | null>;

/** The stores of a campaign. */
export type Place = { clickhouse: ClickHouse; postgres: pg.Client };

/** Deliveries of a project's rows of a model into a table of a PostgreSQL. */
export type Deliveries = {
  /** Selects the rows inserted since the last call and up to an instant (microseconds). */
  select(to: number): Promise<TextRow[]>;
  /** Merges rows into the table: late, out of order, sometimes twice. */
  merge(rows: TextRow[]): Promise<void>;
  /** Merges the remaining rows, returns the rows of the table and drops it. */
  end(): Promise<TextRow[]>;
};

/** Opens deliveries; `constants` are columns with the same value in all rows. */
export async function openDeliveries(
  model: Model,
  { clickhouse, postgres }: Place,
  team_id: number,
  random: Random,
  constants: Record<string, number>,
): Promise<Deliveries> {
  // JSON is delivered unchanged.
  const columns = model.columns.tables.map((column) =>
    column.type === 'json' ? { ...column, type: 'text' as const } : column,
  );
  const layout = { model: model.name, columns };
  const table = `${model.name}_${team_id}`;
  const shown = columns.filter(({ name }) => !Object.hasOwn(constants, name));
  const waiting: TextRow[][] = [];
  let from = 0;
  await postgres.query(tableStatement(table, layout));
  const mergeOne = async (rows: TextRow[]) => {
    await postgres.query(`CREATE TEMP TABLE stage (LIKE ${table})`);
    const instants = columns.filter(({ type }) => type === 'timestamp').map(({ name }) => name);
    const given = rows.map((row) => {
      const times = instants.filter((name) => typeof row[name] === 'string');
      const read = times.map((name) => [name, instantOf(row[name]!)] as const);
      return { ...row, ...constants, ...Object.fromEntries(read) };
    });
    await postgres.query(
      'INSERT INTO stage SELECT * FROM json_populate_recordset(NULL::stage, $1)',
      [JSON.stringify(given)],
    );
    await postgres.query(mergeStatement(table, 'stage', layout));
    await postgres.query('DROP TABLE stage');
  };
  return {
    async select(to) {
      const rows = await selectRows(clickhouse, model, team_id, shown, [from, to]);
      from = to;
      return rows;
    },
    async merge(rows) {
      waiting.push(rows);
      // Out of order, and sometimes again, as after a lost answer.
      if (random.next() < 0.4) return;
      for (const one of waiting.splice(0).toSorted(() => random.next() - 0.5))
        for (let times = random.between(1, 2); times > 0; times -= 1) await mergeOne(one);
    },
    async end() {
      for (const rows of waiting) await mergeOne(rows);
      const list = shown.map(({ name, type }) =>
        type === 'timestamp'
          ? `round(extract(epoch FROM ${name}) * 1000000)::bigint::text AS ${name}`
          : `${name}::text AS ${name}`,
      );
      const { rows } = await postgres.query<TextRow>(`SELECT ${list.join(', ')} FROM ${table}`);
      await postgres.query(`DROP TABLE ${table}`);
      return rows;
    },
  };
}

/** Returns the rows that an export delivers for a range of insertion times (microseconds). */
async function selectRows(
  clickhouse: ClickHouse,
  model: Model,
  team_id: number,
  shown: { name: string; type: string }[],
  [from, to]: [number, number],
): Promise<TextRow[]> {
  const side = { event_from: -Infinity, event_to: Infinity };
  const selection = [{ ...side, inserted_from: from / 1_000, inserted_to: to / 1_000 }];
  const { text, parameters } = model.relation(team_id, selection, every_event);
  const found = await clickhouse.rows<TextRow>({
    query: `SELECT ${shown.map(({ name, type }) => `${asText(name, type)} AS ${name}_`).join(', ')}
      FROM ${text}`,
    query_params: parameters,
  });
  const counted = model.versions(team_id, selection, every_event);
  const [count] = await clickhouse.rows<{ records: string | number }>({
    query: `SELECT ${counted.records} AS records FROM ${counted.text}`,
    query_params: counted.parameters,
  });
  assert.equal(Number(count?.records), found.length, 'as many rows as are counted');
  return found.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name.slice(0, -1), value])),
  );
}

function asText(name: string, type: string): string {
  if (type === 'timestamp') return `toString(toUnixTimestamp64Micro(${name}))`;
  return type === 'boolean'
    ? `if(${name} IS NULL, NULL, if(${name}, 'true', 'false'))`
    : `toString(${name})`;
}

/** Compares rows with the expected rows, by their id. */
export function compareRows(
  key: string,
  found: TextRow[],
  expected: ReadonlyMap<string, TextRow>,
): void {
  const byId = new Map(found.map((row) => [row[key]!, row]));
  assert.equal(byId.size, found.length, 'an id has one row');
  assert.deepEqual([...byId.keys()].sort(), [...expected.keys()].sort());
  for (const [id, row] of expected) assert.deepEqual(byId.get(id), row, id);
}
