import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestEvent } from '../../../../test/factories/batch_exports/query_exports.ts';
import { jarsOf, runClient, withoutSpark } from '../../../../test/iceberg_clients/run_client.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { file_place } from '../file/file.ts';
import { readParquet } from '../formats/parquet/read_parquet.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';

const exporting = aroundTests(openQueryHarness);
const spark_jar = 'iceberg-spark-runtime';

const at = (hour: number, minute: number) => `2026-01-01T0${hour}:${minute}:00Z`;
const sent = (distinct_id: string, event: string, hour: number, minute: number): TestEvent => ({
  distinct_id,
  event,
  at: at(hour, minute),
});

/**
 * Passes requests to the server, and runs `before` the first commit to a table, so that Spark has
 * read the table by then.
 */
async function openPassage(port: number, before: Map<string, () => Promise<void>>) {
  const server = createServer((asked, answered) => {
    const { method, url = '', headers } = asked;
    const table = method === 'POST' ? (/\/tables\/(\w+)$/.exec(url)?.[1] ?? '') : '';
    const first = before.get(table);
    before.delete(table);
    const pass = async () => {
      await first?.();
      const sending = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        answered.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(answered);
      });
      sending.on('error', () => answered.destroy());
      asked.pipe(sending);
    };
    pass().catch((error: Error) => answered.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return { uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/iceberg`, close };
}

test(
  'rows that Spark changes meanwhile stay changed, and verify names them',
  { skip: withoutSpark(spark_jar) },
  async () => {
    const { harness } = exporting;
    const home = await harness.newOrganization();
    const team_id = home.project.id;
    const first = [sent('a', 'a1', 0, 10), sent('b', 'b1', 0, 20), sent('c', 'c1', 0, 30)];
    await exporting.insert(home, [...first, sent('d', 'd1', 1, 10), sent('a', 'a2', 1, 20)]);
    await exporting.insert(home, [sent('f', 'f1', 2, 10)]);
    const config = (table: string) => ({
      destination: { type: 'Iceberg', config: { storage: 'File', table } },
    });
    const { id: events } = await exporting.scheduled(
      home,
      {
        ...config('events'),
        custom_query: 'SELECT distinct_id AS id, event, timestamp FROM events',
      },
      1,
    );
    const { id: orders } = await exporting.scheduled(
      home,
      {
        ...config('orders'),
        custom_query: 'SELECT distinct_id AS id, event, timestamp, inserted_at FROM events',
        mode: 'merge',
        primary_key: ['id'],
        version_key: ['timestamp'],
      },
      1,
    );
    const deliver = async (id: string, hour: number) => {
      await exporting.extend(id, hour);
      const { status, latest_error } = (await exporting.runAll(id)).at(-1)!;
      assert.deepEqual([status, latest_error], ['Completed', null]);
    };
    for (const id of [events, orders]) await deliver(id, 1);
    const properties = { removals: [], updates: { 'sluice.foreign-commits': 'true' } };
    const path = `/iceberg/v1/${team_id}/namespaces/sluice/properties`;
    assert.equal((await home.ask('POST', path, properties)).status, 200);

    await harness.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = harness.app.server.address() as AddressInfo;
    const passage = await openPassage(
      port,
      new Map([
        ['events', () => deliver(events, 2)],
        ['orders', () => deliver(orders, 2)],
      ]),
    );
    const statements = [
      "UPDATE lake.sluice.events SET event = 'changed' WHERE id = 'a' AND event = 'a1'",
      "DELETE FROM lake.sluice.events WHERE id = 'b'",
      `MERGE INTO lake.sluice.events t USING (SELECT 'c' AS id, 'merged' AS event UNION ALL
        SELECT 'e', 'new') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.event = s.event
        WHEN NOT MATCHED THEN INSERT (id, event) VALUES (s.id, s.event)`,
      "UPDATE lake.sluice.orders SET event = 'by hand' WHERE id = 'a'",
      "DELETE FROM lake.sluice.orders WHERE id = 'b'",
    ];
    const { errors } = await runClient('changing_with_spark', [
      passage.uri,
      home.key,
      String(team_id),
      jarsOf(spark_jar),
      JSON.stringify(statements),
    ]).finally(passage.close);
    for (const id of [events, orders]) await deliver(id, 3);

    const rowsOf = async (table: string) => {
      const world = await openWorld(
        file_place,
        config(table).destination.config,
        team_id,
        destinationDeps(harness.deps.engine, new AbortController().signal),
      );
      const rows: string[] = [];
      for (const uri of (await liveFiles(world)).keys())
        for await (const row of readParquet(createReadStream(fileURLToPath(uri)), [
          { name: 'id' },
          { name: 'event' },
        ]))
          rows.push(row.join(' '));
      return rows.toSorted();
    };
    const said = async (id: string) =>
      (await verifyExports(harness.deps.engine, id)).flatMap(({ differences }) => differences);
    // Spark refuses to commit a statement over rows that another writer has added or replaced.
    const times = (errors as string[][]).map(({ length }) => length);
    assert.deepEqual(times, [1, 0, 0, 1, 0]);
    const whole = ['a a2', 'a changed', 'c merged', 'd d1', 'e new', 'f f1'];
    assert.deepEqual(await rowsOf('events'), whole);
    assert.deepEqual(await rowsOf('orders'), ['a by hand', 'c c1', 'd d1', 'f f1']);
    const [own, ...spark] = await said(events);
    assert.deepEqual(
      [own?.kind, own?.detail],
      ['missing', 'The table does not name it: another writer removed or replaced it.'],
    );
    assert.ok(spark.length > 0 && spark.every(({ detail }) => detail === 'No receipt names it.'));
    assert.deepEqual(
      (await said(orders)).map(({ detail }) => detail),
      ['The column event was delivered as a2 and is by hand.', 'The row is gone.'],
    );
  },
);
