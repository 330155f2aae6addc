import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../../../test/harness.ts';

let world: QueryHarness;
let postgres: PostgresServer;
let home: TestOrganization;

before(async () => {
  world = await openQueryHarness({ config: { outbound_allow: ['127.0.0.0/8'] } });
  postgres = await openPostgresServer();
  home = await world.harness.newOrganization();
  const events = { event: 'e', distinct_id: 'd' };
  const at = ['2026-01-01T00:30:00Z', '2026-01-01T01:30:00Z'] as const;
  for (const [instant, properties] of [
    [at[0], '{"n":1e99999}'],
    [at[0], '{"n":[1e-20000,"x"]}'],
    [at[0], '{"a":"b\\u0000c"}'],
    [at[1], '{"message":"commit 07e95121f318dc32","n":1.10}'],
  ] as const)
    await world.harness.deps.clickhouse.insert({
      table: 'events',
      values: [
        {
          ...events,
          team_id: home.project.id,
          uuid: crypto.randomUUID(),
          person_id: crypto.randomUUID(),
          properties,
          person_properties: '{}',
          elements_chain: '',
          timestamp: instant.replace(/[TZ]/g, ' ').trim(),
          created_at: instant.replace(/[TZ]/g, ' ').trim(),
          inserted_at: instant.replace(/[TZ]/g, ' ').trim(),
        },
      ],
      format: 'JSONEachRow',
    });
});
after(async () => {
  await postgres?.close();
  await world?.close();
});

async function warnings(destination: object): Promise<string[]> {
  const created = await world.scheduled(home, { destination }, 2);
  const runs = await world.runAll(created.id);
  assert.ok(runs.every((run) => run.status === 'Completed'));
  const { body } = await created.get('logs/?level=WARNING');
  return body.results.map((line: { message: string }) => line.message);
}

test('a run says how many values the destination could not hold, and else nothing', async () => {
  const config = await postgres.freshConfig();
  assert.deepEqual(await warnings({ type: 'Postgres', config }), [
    'Slice 1 of 1: 2 values could not be held as JSON and became text; of 1 value characters ' +
      'were removed or replaced. The docs page of the destination lists the values that it ' +
      'cannot hold.',
  ]);
  const { rows } = await postgres.pool.query<{ properties: unknown }>(
    `SELECT properties::text FROM ${config.schema}.events ORDER BY inserted_at, properties::text`,
  );
  assert.deepEqual(
    rows.map((row) => row.properties).toSorted(),
    [
      '"{\\"n\\":1e99999}"',
      '"{\\"n\\":[1e-20000,\\"x\\"]}"',
      '{"a": "bc"}',
      '{"n": 1.10, "message": "commit 07e95121f318dc32"}',
    ].toSorted(),
  );
});

test('files hold every number and NUL, to the byte', async () => {
  for (const file_format of ['JSONLines', 'CSV', 'Parquet'])
    assert.deepEqual(
      await warnings({ type: 'File', config: { prefix: file_format, file_format } }),
      [],
    );
  const lines = Buffer.concat(await world.filesIn('JSONLines', '.jsonl')).toString('utf8');
  for (const text of ['{"n":1e99999}', '{"n":[1e-20000,"x"]}', '{"a":"b\\u0000c"}', '"n":1.10}'])
    assert.ok(lines.includes(text), text);
});

test('a run and the connection test name columns that keep less than is brought', async () => {
  const config = await postgres.freshConfig();
  const destination = { type: 'Postgres', config };
  await warnings(destination);
  const lost = 'the column timestamp is date and loses the time of day';
  assert.ok(!(await warnings(destination)).some((line) => line.includes('loses')));
  await postgres.pool.query(`ALTER TABLE ${config.schema}.events ALTER "timestamp" TYPE date`);
  const said = await warnings(destination);
  // Once in each of the two runs.
  assert.equal(said.filter((line) => line.includes(lost)).length, 2, said.join('\n'));
  const created = await world.scheduled(home, { destination }, 2);
  const { body } = await created.send('POST', 'test/');
  assert.ok(JSON.stringify(body).includes(lost), JSON.stringify(body));
});
