import { aroundTests } from '../../../test/around_tests.ts';
import { testRedelivery, too_long } from '../../../test/destinations/redelivery_contract.ts';
import { RedshiftWorld } from '../../../test/destinations/redshift_world.ts';
import * as snowflake from '../../../test/destinations/snowflake_world.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { countOf } from '../../../test/factories/batch_exports/refusing_tables.ts';

const exporting = aroundTests(openQueryHarness);

const columns = (event: string, instant: string) => `(uuid varchar(36), event ${event},
  distinct_id varchar(100), timestamp ${instant}, inserted_at ${instant})`;

for (const mode of ['INSERT', 'COPY'] as const) {
  const world = new RedshiftWorld(mode);
  world.openAroundTests();
  testRedelivery(exporting, `Redshift by ${mode}`, async () => {
    const config = await world.freshConfig();
    const [table, rejected] = [world.inSchema(config), world.inSchema(config, 'events_rejected')];
    await world.pool.query(`CREATE TABLE ${table} ${columns(too_long.first, 'timestamptz')}`);
    return {
      destination: { type: 'Redshift', config },
      refused: too_long.refused,
      relent: () => world.pool.query(`ALTER TABLE ${table} ALTER event TYPE ${too_long.wider}`),
      counts: async () => [await countOf(world.pool, table), await countOf(world.pool, rejected)],
    };
  });
}

snowflake.openAroundTests();
testRedelivery(exporting, 'Snowflake', async () => {
  const { freshConfig, inSchema, pool } = snowflake;
  const config = await freshConfig();
  const [table, rejected] = [inSchema(config), inSchema(config, 'events_rejected')];
  await pool.query(`CREATE TABLE ${table} ${columns(too_long.first, 'timestamp(6)')}`);
  return {
    destination: { type: 'Snowflake', config },
    refused: too_long.refused,
    relent: () => pool.query(`ALTER TABLE ${table} ALTER event TYPE ${too_long.wider}`),
    counts: async () => [await countOf(pool, table), await countOf(pool, rejected)],
  };
});
