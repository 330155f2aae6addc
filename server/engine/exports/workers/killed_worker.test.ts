import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../../test/eventually.ts';
import { commandOn } from '../../../../test/factories/backups.ts';
import { newExport, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  first_hour_at,
  openDeliveringHarness,
  rowsIn,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../../test/factories/batch_exports/delivering_harness.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { startServer } from '../../../../test/processes/server_process.ts';
import type { ServerProcess } from '../../../../test/processes/server_process.ts';
import { leastEnvironment } from '../../../../test/processes/sluice_process.ts';

// The kill of a worker once, with a worker of this process beside it. Servers that are killed, each
// with processes of its own, and how long others wait: test/chaos/takeover.test.ts.

const events = 8_000;
let delivering: DeliveringHarness;
let home: TestOrganization;
let worker: ServerProcess;
before(async () => {
  delivering = await openDeliveringHarness();
  home = await delivering.harness.newOrganization();
  // Else it says that the server is starting.
  await delivering.harness.deps.db.run(
    sql`INSERT INTO server_facts (name, value) VALUES ('first_start', '{}')`,
  );
  worker = await startServer(['worker'], {
    ...leastEnvironment(),
    ...commandOn(delivering.stores, delivering.folder).environment,
    SLUICE_WORKER_PORT: '0',
    SLUICE_LOG_LEVEL: 'warn',
  });
});
after(async () => {
  await worker.stop();
  await delivering.close();
});

test('a worker answers for its health; the next one delivers all once', async () => {
  const { harness, folder } = delivering;
  const { db, clickhouse } = harness.deps;
  const at = /\/metrics at (\S+)\.\n/.exec(worker.output())?.[1];
  const ready = await fetch(`${at}/readyz`);
  assert.deepEqual(
    [ready.status, ((await ready.json()) as { status: string }).status],
    [200, 'ok'],
  );
  assert.equal((await fetch(`${at}/api/organizations/@current/`)).status, 404);

  const to = first_hour_at + 3_600_000;
  await fillEvents(clickhouse, { team_id: home.project.id, events, from: first_hour_at, to });
  const config = { prefix: 'killed', file_format: 'JSONLines', max_file_size_mb: 1 };
  const { id } = await newExport(home, { destination: { type: 'File', config } });
  const ask = async (method: string, path: string, body?: unknown) => {
    const sent = { key: home.key, ...(body === undefined ? {} : { body }) };
    return (await harness.request(method, `${projectBase(home)}${id}/${path}`, sent)).body;
  };
  const linesOf = async (beginning: string): Promise<string[]> => {
    const page = await ask('GET', `logs/?search=${beginning}&limit=500`);
    return (page.results as { message: string }[])
      .map(({ message }) => message)
      .filter((message) => message.startsWith(beginning));
  };
  const range = { start_at: new Date(first_hour_at), end_at: new Date(to) };
  await ask('POST', 'backfill/', range);
  await eventually('no slice is written', async () => (await linesOf('Slice')).length > 0);
  const text = await (await fetch(`${at}/metrics`)).text();
  await worker.kill();
  assert.match(text, /^sluice_records_exported_total\{destination="File"\} [1-9]/m);
  const written = (await linesOf('Slice')).length;

  // The silence after which a worker is believed dead is over.
  await db.run(sql`UPDATE workers SET heartbeat_at = heartbeat_at - interval '9 seconds'`);
  await delivering.startOnce();
  const runs = () => ask('GET', 'runs/?limit=1');
  await eventually(
    'the run does not end',
    async () => (await runs()).results[0]?.status === 'Completed',
  );
  assert.equal((await runs()).results[0].records_completed, events);
  assert.equal((await linesOf('Attempt')).length, 2);
  const numbers = (await linesOf('Slice')).map((line) => /^Slice (\d+) of/.exec(line)?.[1]);
  assert.ok(written < numbers.length, 'the run was over before the kill');
  assert.equal(new Set(numbers).size, numbers.length, 'a finished slice was written again');
  const uuids = (await rowsIn(folder, 'killed')).map(({ uuid }) => uuid);
  assert.deepEqual([uuids.length, new Set(uuids).size], [events, events]);
});
