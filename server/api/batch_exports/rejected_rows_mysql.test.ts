import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { MySqlWorld } from '../../../test/destinations/mysql_world.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { refusedRun, testRedelivery } from '../../../test/destinations/redelivery_contract.ts';
import type { RedeliveryPlace } from '../../../test/destinations/redelivery_contract.ts';
import { foundAt, right } from '../../../test/factories/batch_exports/refusing_tables.ts';
import { erasePerson } from '../../../test/factories/batch_exports/rejected_rows.ts';
import { mariaDbMissing } from '../../../test/servers/databases/mariadb_server.ts';

const exporting = aroundTests(openQueryHarness);

// The runner does not count a skipped suite, so this test is counted instead.
if (mariaDbMissing !== undefined)
  test('the tests on MariaDB', { skip: mariaDbMissing }, () => undefined);
describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
  const world = new MySqlWorld();

  before(() => world.start());
  after(() => world.stop());

  /** Its constraint refuses three rows, two of them of the person `ada`. */
  async function freshPlace(): Promise<RedeliveryPlace> {
    const { config } = world.freshOrders('written');
    const table = `warehouse.${config.table_name}`;
    await world.run(`CREATE TABLE ${table} (uuid char(36), event varchar(50), distinct_id text,
      timestamp datetime(6), inserted_at datetime(6),
      CONSTRAINT no_bad CHECK (event <> 'bad')) ENGINE = InnoDB CHARACTER SET utf8mb4
      COLLATE utf8mb4_bin`);
    return {
      destination: { type: 'MySQL', config },
      refused: ['ada', 'bob', 'ada'].map((distinct_id) => ({ event: 'bad', distinct_id })),
      relent: () =>
        world.run(`ALTER TABLE ${table} DROP CONSTRAINT no_bad,
          ADD CONSTRAINT no_bob CHECK (distinct_id <> 'bob')`),
      counts: async () => {
        const [row] = await world.rows<{ there: number; aside: number }>(`SELECT
          (SELECT COUNT(*) FROM ${table}) AS there,
          (SELECT COUNT(*) FROM ${table}_rejected) AS aside`);
        return [row!.there, row!.aside];
      },
    };
  }

  testRedelivery(exporting, 'MariaDB', freshPlace);

  test('an erased person leaves the rejected rows too', async () => {
    const place = await freshPlace();
    const { home, id } = await refusedRun(exporting, place);
    await erasePerson(exporting, home, id, 'ada');
    assert.deepEqual(await place.counts(), [40, 1]);
    assert.deepEqual(await foundAt(exporting, id), right);
  });
});
