import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { Dialect } from '../../server/engine/destinations/sql_tables/dialect.ts';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import { RetryableError } from '../../server/engine/model/destination/errors.ts';
import { freshDelivery, isLasting } from '../factories/batch_exports/deliveries.ts';
import { inDepth } from '../depth.ts';
import { mariaDbMissing } from '../servers/databases/mariadb_server.ts';
import { columns } from './model.ts';
import { openClickHouseStore, openMySqlStore, openPostgresStore } from './stores.ts';
import type { MergePlace, MergeStore } from './stores.ts';

const generations = inDepth(8, 200);
const rows_least = 2_000;

/** The rows of a generation all say so in `revision`, and each generation has one more. */
const rowsOf = (generation: number): ValueRow[] =>
  Array.from({ length: rows_least + generation }, (_, index) => {
    const values: Record<string, string> = {
      name: 'x',
      shop: 's',
      revision: String(generation),
      number: String(index),
      changed: '2026-01-01T00:00:00.000000Z',
      total: '1.5',
      properties: '{}',
      is_deleted: 'false',
    };
    return columns.map(({ name }) => values[name]!);
  });

/** Delivers a generation as the engine would; one that is refused is taken back. */
async function replace(
  { definition, config, deps, encode }: MergePlace,
  batch_export_id: string,
  number: number,
): Promise<void> {
  const generation = new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString();
  const delivery = freshDelivery({ batch_export_id, columns, merge: null, generation });
  const rows = rowsOf(number);
  const bytes = encode(rows, columns);
  const sink = await definition.open(config, delivery, deps);
  try {
    const slice = { number: 0, records: rows.length, is_last: true } as const;
    const written = await sink.write(slice, Readable.from([bytes]));
    const text = JSON.stringify({ delivery_id: delivery.delivery_id, generation });
    const outcome = { ...slice, bytes: bytes.length, sha256: '', ...written };
    await sink.commit([outcome], { name: 'manifest', text });
  } catch (error) {
    await sink.abort([]);
    throw error;
  } finally {
    await sink.close();
  }
}

const attempts_max = 8;

/** As the engine tries it: again after a fault that passes, and no more where it is too late. */
async function replaceInTime(
  place: MergePlace,
  batch_export_id: string,
  number: number,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await replace(place, batch_export_id, number);
    } catch (error) {
      if (isLasting('superseded')(error)) return;
      if (!(error instanceof RetryableError) || attempt === attempts_max) throw error;
    }
}

type Seen = { generation: number | string; count: number | string };

/** Fails unless the rows are those of one generation, all of them; gives its number. */
function generationIn(where: string, seen: Seen[]): number {
  const told = `${where}: ${JSON.stringify(seen)}`;
  assert.equal(seen.length, 1, told);
  const generation = Number(seen[0]!.generation);
  assert.equal(Number(seen[0]!.count), rows_least + generation, told);
  return generation;
}

const looking = (relation: string) =>
  `SELECT revision AS generation, count(*) AS count FROM ${relation} GROUP BY revision`;

type Scene = {
  store: MergeStore;
  place: MergePlace;
  /** The table as statements name it. */
  table: string;
  session: Dialect;
  batch_export_id: string;
};

/**
 * Replaces a table again and again, by two generations at a time, while readers look at these
 * relations. Each must see one whole generation, and none older than before. Gives the number of
 * looks.
 */
async function playReaders(scene: Scene, relations: string[]): Promise<number> {
  const { store, place, batch_export_id, session } = scene;
  let is_over = false;
  let looks = 0;
  const follow = async (relation: string) => {
    const own = await place.speak();
    let latest = 0;
    try {
      while (!is_over) {
        const seen = await own.rows<Seen>(looking(relation));
        const generation = generationIn(`${store.name}, ${relation}`, seen);
        assert.ok(generation >= latest, `${store.name}: ${generation} after ${latest}`);
        latest = generation;
        looks += 1;
      }
    } finally {
      await own.close();
    }
  };
  const readers = Promise.all(relations.map(follow));
  try {
    for (let number = 2; number <= generations; number += 2) {
      const rivals = [number + 1, number].map((one) => replaceInTime(place, batch_export_id, one));
      await Promise.all(rivals);
      const seen = await session.rows<Seen>(looking(relations[0]!));
      assert.equal(generationIn(store.name, seen), number + 1);
    }
    // An older one is refused, however late it comes.
    await assert.rejects(replace(place, batch_export_id, 2), isLasting('superseded'));
  } finally {
    is_over = true;
    await readers;
  }
  return looks;
}

async function withScene(
  openStore: () => Promise<MergeStore>,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  const store = await openStore();
  const place = await store.open();
  const session = await place.speak();
  const batch_export_id = randomUUID();
  try {
    await replace(place, batch_export_id, 1);
    const table = String(place.config['table_name']);
    await play({ store, place, table, session, batch_export_id });
  } finally {
    await session.close();
    await place.close();
    await store.close();
  }
}

test('PostgreSQL: readers, a view, a grant, a foreign key and a long transaction', () =>
  withScene(openPostgresStore, async (scene) => {
    const { place, table, session, batch_export_id } = scene;
    const run = <Row extends Record<string, unknown>>(statement: string) =>
      session.rows<Row>(statement);
    await run(`CREATE VIEW ${table}_view AS SELECT * FROM ${table}`);
    await run(`CREATE UNIQUE INDEX ON ${table} (number)`);
    await run(`CREATE TABLE ${table}_of (number bigint REFERENCES ${table} (number))`);
    await run(`INSERT INTO ${table}_of VALUES (7)`);
    await run(`CREATE ROLE ${table}_reader`);
    await run(`GRANT SELECT ON ${table} TO ${table}_reader`);
    const long = await place.speak();
    try {
      await long.rows('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await long.rows(`SELECT 1 FROM ${table} LIMIT 1`);
      const relations = [table, `${table}_view`];
      const looks = await playReaders(scene, relations);
      assert.ok(looks > generations, `${looks} looks`);
      assert.equal(generationIn('long', await long.rows<Seen>(looking(table))), 1);
    } finally {
      await long.close();
    }
    const may = `has_table_privilege('${table}_reader', '${table}', 'SELECT')`;
    assert.deepEqual(await run(`SELECT ${may} AS may`), [{ may: true }]);
    assert.deepEqual(await run(`SELECT number::int FROM ${table}_of`), [{ number: 7 }]);
    // Rows that depend on those of the table would be deleted with them.
    const cascading = `REFERENCES ${table} (number) ON DELETE CASCADE`;
    await run(`CREATE TABLE ${table}_cascading (number bigint ${cascading})`);
    await assert.rejects(
      replace(place, batch_export_id, generations + 2),
      isLasting('table_unsuitable'),
    );
    await run(`DROP TABLE ${table}_cascading, ${table}_of`);
    await run(`DROP VIEW ${table}_view`);
  }));

test(
  'MariaDB: readers, a view, a grant, a foreign key and a long transaction',
  { skip: mariaDbMissing ?? false },
  () =>
    withScene(openMySqlStore, async (scene) => {
      const { store, place, table: name, session, batch_export_id } = scene;
      const table = `warehouse.${name}`;
      const run = <Row extends Record<string, unknown>>(statement: string) =>
        session.rows<Row>(statement);
      await run(`CREATE VIEW ${table}_view AS SELECT * FROM ${table}`);
      await run(`CREATE TABLE ${table}_shops (id bigint PRIMARY KEY) ENGINE = InnoDB`);
      await run(`INSERT INTO ${table}_shops VALUES (1)`);
      await run(`ALTER TABLE ${table} ADD COLUMN own bigint NOT NULL DEFAULT 1,
        ADD FOREIGN KEY (own) REFERENCES ${table}_shops (id)`);
      await store.asAdmin!(`CREATE USER IF NOT EXISTS reader@localhost`);
      await store.asAdmin!(`GRANT SELECT ON ${table} TO reader@localhost`);
      const long = await place.speak();
      try {
        await long.rows('START TRANSACTION WITH CONSISTENT SNAPSHOT');
        const relations = [table, `${table}_view`];
        const looks = await playReaders(scene, relations);
        assert.ok(looks > generations, `${looks} looks`);
        assert.equal(generationIn('long', await long.rows<Seen>(looking(table))), 1);
      } finally {
        await long.close();
      }
      const grants = await store.asAdmin!('SHOW GRANTS FOR reader@localhost');
      assert.match(JSON.stringify(grants), new RegExp(name));
      await assert.rejects(run(`DELETE FROM ${table}_shops`), /foreign key/);
      await run(`ALTER TABLE ${table} ADD UNIQUE INDEX (number)`);
      await run(`CREATE TABLE ${table}_of (number bigint,
        FOREIGN KEY (number) REFERENCES ${table} (number)) ENGINE = InnoDB`);
      await assert.rejects(
        replace(place, batch_export_id, generations + 2),
        isLasting('table_unsuitable'),
      );
      await run(`DROP TABLE ${table}_of`);
    }),
);

// The embedded ClickHouse creates no roles, so a grant and a row policy are left out.
test('ClickHouse: readers, a view and a long query', () =>
  withScene(openClickHouseStore, async (scene) => {
    const table = `${String(scene.place.config['database'])}.${scene.table}`;
    await scene.store.asAdmin!(`CREATE VIEW ${table}_view AS SELECT * FROM ${table}`);
    const long = scene.session.rows<Seen>(
      `SELECT revision AS generation, count() AS count FROM ${table}
        WHERE sleepEachRow(0.001) = 0 GROUP BY revision SETTINGS max_block_size = 100`,
    );
    const looks = await playReaders(scene, [table, `${table}_view`]);
    assert.ok(looks > generations, `${looks} looks`);
    assert.equal(generationIn('long', await long), 1);
    await scene.store.asAdmin!(`DROP VIEW ${table}_view`);
  }));
