import { testRejected } from '../../../../test/destinations/rejected_contract.ts';
import { openAroundTests, server } from '../../../../test/destinations/postgres_stages.ts';
import { postgres } from './postgres.ts';

openAroundTests();

testRejected({
  definition: postgres,
  deps: () => server.deps,
  freshPlace: async () => {
    const config = await server.freshConfig();
    const table = `${config.schema}.events`;
    await server.pool.query(`CREATE TABLE ${table} (n bigint CHECK (n < 100))`);
    return {
      config,
      rows: async () =>
        (await server.pool.query<{ n: string }>(`SELECT n FROM ${table} ORDER BY n`)).rows.map(
          ({ n }) => Number(n),
        ),
      rejected: async () => {
        const there = await server.pool.query(`SELECT to_regclass('${table}_rejected') AS name`);
        if (there.rows[0].name === null) return [];
        const found = await server.pool.query(`SELECT number, slice, code, record::text
          FROM ${table}_rejected ORDER BY number`);
        return found.rows;
      },
    };
  },
});
