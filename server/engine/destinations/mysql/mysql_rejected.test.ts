import { after, before, describe, test } from 'node:test';
import { testRejected } from '../../../../test/destinations/rejected_contract.ts';
import { MySqlWorld } from '../../../../test/destinations/mysql_world.ts';
import { mariaDbMissing } from '../../../../test/servers/databases/mariadb_server.ts';
import { mysql } from './mysql.ts';

// The runner does not count a skipped suite, so this test is counted instead.
if (mariaDbMissing !== undefined)
  test('the tests on MariaDB', { skip: mariaDbMissing }, () => undefined);
describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
  const world = new MySqlWorld();

  before(() => world.start());
  after(() => world.stop());

  testRejected({
    definition: mysql,
    deps: () => world.deps,
    freshPlace: async () => {
      const { config } = world.freshOrders('written');
      const table = `warehouse.${config.table_name}`;
      await world.run(`CREATE TABLE ${table} (n bigint CHECK (n < 100)) ENGINE = InnoDB`);
      return {
        config,
        rows: async () =>
          (await world.rows<{ n: number }>(`SELECT n FROM ${table} ORDER BY n`)).map(({ n }) => n),
        rejected: async () => {
          const there = await world.rows(`SELECT 1 FROM information_schema.TABLES
            WHERE TABLE_NAME = '${config.table_name}_rejected'`);
          if (there.length === 0) return [];
          return world.rows(`SELECT number, slice, code, record FROM ${table}_rejected
            ORDER BY number`);
        },
      };
    },
  });
});
