import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { MySqlWorld } from '../../../test/destinations/mysql_world.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import {
  erasePerson,
  eventsWith,
  refused_query,
} from '../../../test/factories/batch_exports/rejected_rows.ts';
import { mariaDbMissing } from '../../../test/servers/databases/mariadb_server.ts';
import { verifyExports } from '../../cli/verify/verify.ts';

const exporting = aroundTests(openQueryHarness);

// Of a suite that is skipped the runner counts nothing: this is what is counted.
if (mariaDbMissing !== undefined)
  test('the tests on MariaDB', { skip: mariaDbMissing }, () => undefined);
describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
  const world = new MySqlWorld();

  before(() => world.start());
  after(() => world.stop());

  /** A run of 40 good rows and three that a constraint refuses, two of them of the person `ada`. */
  async function refused() {
    const { config } = world.freshOrders('written');
    const table = `warehouse.${config.table_name}`;
    await world.run(`CREATE TABLE ${table} (uuid char(36), event varchar(50), distinct_id text,
      timestamp datetime(6), inserted_at datetime(6),
      CONSTRAINT no_bad CHECK (event <> 'bad')) ENGINE = InnoDB CHARACTER SET utf8mb4
      COLLATE utf8mb4_bin`);
    const home = await exporting.harness.newOrganization();
    const bad = ['ada', 'bob', 'ada'].map((distinct_id) => ({ event: 'bad', distinct_id }));
    await exporting.insert(home, eventsWith(0, 40, bad));
    const destination = { type: 'MySQL', config };
    const body = { destination, custom_query: refused_query, rejected_rows: 'set_aside' };
    const { id, send } = await exporting.scheduled(home, body, 1);
    const [run] = await exporting.runAll(id);
    assert.equal(run!.status, 'Completed', run!.latest_error ?? '');
    return { home, id, send, table, run: run! };
  }

  const counts = async (table: string) => {
    const [row] = await world.rows<{ there: number; aside: number }>(`SELECT
      (SELECT COUNT(*) FROM ${table}) AS there, (SELECT COUNT(*) FROM ${table}_rejected) AS aside`);
    return [row!.there, row!.aside];
  };
  const differencesOf = async (id: string) => {
    const [finding] = await verifyExports(exporting.harness.deps.engine, id);
    return [finding!.fault, ...finding!.differences];
  };

  test('refused rows are set aside, and delivered again once', async () => {
    const { id, send, table, run } = await refused();
    assert.deepEqual(await counts(table), [40, 3]);
    assert.deepEqual(await differencesOf(id), [null]);
    await world.run(`ALTER TABLE ${table} DROP CONSTRAINT no_bad,
      ADD CONSTRAINT no_bob CHECK (distinct_id <> 'bob')`);
    const asked = await send('POST', `runs/${run.id}/redeliver_rejected/`);
    assert.equal(asked.status, 200, asked.text);
    await exporting.runAll(id);
    assert.deepEqual(await counts(table), [42, 1]);
    assert.deepEqual(await differencesOf(id), [null]);
  });

  test('an erased person leaves the rejected rows too', async () => {
    const { home, id, table } = await refused();
    await erasePerson(exporting, home, id, 'ada');
    assert.deepEqual(await counts(table), [40, 1]);
    assert.deepEqual(await differencesOf(id), [null]);
  });
});
