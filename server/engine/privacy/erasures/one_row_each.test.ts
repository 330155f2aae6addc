import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openDeliveringHarness } from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../../test/factories/batch_exports/delivering_harness.ts';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';

let world: DeliveringHarness;
let postgres: PostgresServer;

before(async () => {
  world = await openDeliveringHarness();
  await world.startOnce();
  postgres = await openPostgresServer();
});
after(async () => {
  await postgres?.close();
  await world?.close();
});

const { ask, send, exported, work } = erasing(() => world);
const by_person = {
  mode: 'merge',
  primary_key: ['distinct_id'],
  version_key: ['seen'],
};

test('the row of a person leaves a table merged by person; appended ones stay', async () => {
  const home = await world.harness.newOrganization();
  await send(home, [
    { event: 'visited', distinct_id: 'visitor-1' },
    {
      event: '$identify',
      distinct_id: 'ada@x.org',
      properties: { $anon_distinct_id: 'visitor-1' },
    },
    { event: 'paid', distinct_id: 'Ada@x.org' },
    { event: 'paid', distinct_id: 'bob@x.org' },
  ]);
  const custom_query =
    'SELECT distinct_id, count() AS events, max(timestamp) AS seen FROM events ' +
    'GROUP BY distinct_id';
  const deliver = async (rule?: object) => {
    const config = await postgres.freshConfig();
    const destination = { type: 'Postgres', config };
    await exported(home, '', {
      destination,
      custom_query,
      ...(rule === undefined ? {} : { rule }),
    });
    return async () => {
      const found = await postgres.pool.query<{ distinct_id: string }>(
        `SELECT distinct_id FROM ${config.schema}.${config.table_name ?? 'events'}
          ORDER BY distinct_id COLLATE "C"`,
      );
      return found.rows.map((row) => row.distinct_id);
    };
  };
  const merged = await deliver(by_person);
  const appended = await deliver();
  const all = ['Ada@x.org', 'ada@x.org', 'bob@x.org', 'visitor-1'];
  assert.deepEqual([await merged(), await appended()], [all, all]);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 1 });
  assert.deepEqual([await merged(), await appended()], [['Ada@x.org', 'bob@x.org'], all]);
  const { results } = (await ask(home, 'GET', `erasures/${asked.id}/copies/?state=yours`)).body;
  assert.match(results[0].detail, /no key that identifies them/);
  // A filter removes events, and the person stays.
  const { body: rest } = await ask(home, 'POST', 'erasures/', { filter: { events: ['paid'] } });
  const { copies } = await work(home, rest.id);
  assert.deepEqual(copies, { waiting: 0, rewriting: 0, rewritten: 0, yours: 2 });
});
