import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { freshDelivery } from '../factories/batch_exports/deliveries.ts';
import { root } from '../house/source_files.ts';
import { mariaDbMissing } from '../servers/databases/mariadb_server.ts';
import { columns } from './model.ts';
import { openClickHouseStore, openMySqlStore, openPostgresStore } from './stores.ts';
import type { MergePlace, MergeStore } from './stores.ts';

/** The statement that docs/write_modes.md shows for a database. */
function statementFor(database: string): string {
  const page = readFileSync(join(root, 'docs/write_modes.md'), 'utf8');
  const section = page.slice(page.indexOf('\n## Hide deleted rows'));
  const [, block = ''] = /```sql\n(.*?)```/s.exec(section) ?? [];
  const lines = block.split('\n').map((line) => line.split(/;\s*-- /));
  const [statement] = lines.find(([, of = '']) => of.split(', ').includes(database)) ?? [];
  assert.ok(statement !== undefined, `The page has no statement for ${database}.`);
  return statement;
}

type Order = { number: number; minute: number; is_deleted: boolean };

async function deliver({ definition, config, deps, encode }: MergePlace, orders: Order[]) {
  const rows = orders.map(({ number, minute, is_deleted }) => {
    const values: Record<string, string> = {
      name: 'x',
      shop: 's',
      revision: '1',
      number: String(number),
      changed: `2026-01-01T00:${minute}:00.000000Z`,
      total: '1.5',
      properties: '{}',
      is_deleted: String(is_deleted),
    };
    return columns.map(({ name }) => values[name]!);
  });
  const merge = { key: ['number'], versions: ['changed'] };
  const sink = await definition.open(config, freshDelivery({ columns, merge }), deps);
  try {
    const bytes = encode(rows, columns);
    const slice = { number: 0, records: rows.length, is_last: true } as const;
    const written = await sink.write(slice, Readable.from([bytes]));
    const outcome = { ...slice, bytes: bytes.length, sha256: '', ...written };
    await sink.commit([outcome], { name: 'manifest', text: '{}' });
  } finally {
    await sink.close();
  }
}

async function requireHidden(
  openStore: () => Promise<MergeStore>,
  name: string,
  inDatabase = (table: string) => table,
): Promise<void> {
  const store = await openStore();
  const place = await store.open();
  const session = await place.speak();
  const table = inDatabase(String(place.config['table_name']));
  const view = `${table}_now`;
  const shown = async () => {
    const found = await session.rows<{ number: number | string }>(
      `SELECT number FROM ${view} ORDER BY number`,
    );
    return found.map(({ number }) => Number(number));
  };
  try {
    const all = [1, 2, 3].map((number) => ({ number, minute: 10, is_deleted: false }));
    await deliver(place, all);
    await session.rows(
      statementFor(name).replace('VIEW orders_now', `VIEW ${view}`).replace('orders', table),
    );
    assert.deepEqual(await shown(), [1, 2, 3]);
    await deliver(place, [{ number: 2, minute: 20, is_deleted: true }]);
    assert.deepEqual(await shown(), [1, 3]);
    await deliver(place, [{ number: 2, minute: 15, is_deleted: false }]);
    assert.deepEqual(await shown(), [1, 3], 'a late older row');
    await deliver(place, [{ number: 2, minute: 30, is_deleted: false }]);
    assert.deepEqual(await shown(), [1, 2, 3], 'a newer row');
    await session.rows(`DROP VIEW ${view}`);
  } finally {
    await session.close();
    await place.close();
    await store.close();
  }
}

test('PostgreSQL: the view of the page hides deleted rows', () =>
  requireHidden(openPostgresStore, 'Postgres'));

test('MariaDB: the view of the page hides deleted rows', { skip: mariaDbMissing ?? false }, () =>
  requireHidden(openMySqlStore, 'MySQL', (table) => `warehouse.${table}`),
);

test('ClickHouse: the view of the page hides deleted rows', () =>
  requireHidden(openClickHouseStore, 'ClickHouse'));
