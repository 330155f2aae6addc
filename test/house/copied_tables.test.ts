import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../around_tests.ts';
import { migrateClickHouseAsStarted, openTestClickHouse, withDatabase } from '../harness_stores.ts';

const store = aroundTests(openTestClickHouse);

test('the tables that a test file gets are those of the migrations', async () => {
  const { clickhouse, clickhouse_url } = store;
  const [{ name: copied } = { name: '' }] = await clickhouse.rows<{ name: string }>({
    query: 'SELECT currentDatabase() AS name',
  });
  const migrated = `${copied}_migrated`;
  await clickhouse.command({ query: `CREATE DATABASE ${migrated}` });
  try {
    await migrateClickHouseAsStarted(withDatabase(clickhouse_url, migrated));
    const tablesOf = async (database: string) => {
      const rows = await clickhouse.rows<{ text: string }>({
        query: `SELECT create_table_query AS text FROM system.tables
          WHERE database = {database:String} ORDER BY name`,
        query_params: { database },
      });
      const applied = await clickhouse.rows<{ name: string }>({
        query: `SELECT name FROM ${database}.migrations ORDER BY name`,
      });
      return [...rows.map(({ text }) => text.replaceAll(`${database}.`, '')), ...applied];
    };
    const tables = await tablesOf(copied);
    assert.ok(tables.length > 10);
    assert.deepEqual(tables, await tablesOf(migrated));
  } finally {
    await clickhouse.command({ query: `DROP DATABASE ${migrated}` });
  }
});
