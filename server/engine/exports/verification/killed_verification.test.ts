import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../../test/eventually.ts';
import { commandOn } from '../../../../test/factories/backups.ts';
import { newExport, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  hour_of,
  insertEvents,
  openDeliveringHarness,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { startServer } from '../../../../test/processes/server_process.ts';
import type { ServerProcess } from '../../../../test/processes/server_process.ts';
import { leastEnvironment } from '../../../../test/processes/sluice_process.ts';
import { workVerifications } from './work.ts';

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
    SLUICE_LOG_LEVEL: 'warn',
  });
});
after(async () => {
  await worker.stop();
  await delivering.close();
});

test('a worker is killed in the middle of a part, and another one repeats it', async () => {
  const { harness, folder } = delivering;
  const { db, engine } = harness.deps;
  await insertEvents(harness, home);
  const destination = { type: 'File', config: { prefix: 'killed' } };
  const { id } = await newExport(home, { interval: 'hour', destination });
  const ask = async (method: string, path: string, body?: unknown) =>
    (await home.ask(method, `${projectBase(home)}${id}/${path}`, body)).body;
  const range = { start_at: hour_of(0), end_at: hour_of(3) };
  const { backfill } = await ask('POST', 'backfill/', range);
  await eventually(
    'nothing is delivered',
    async () => (await ask('GET', `backfills/${backfill.id}/`)).status === 'Completed',
  );
  const names = (await readdir(join(folder, 'killed'))).filter((name) => name.endsWith('.jsonl'));
  const [path] = names.map((name) => join(folder, 'killed', name)) as [string];
  const bytes = await readFile(path);
  // Whoever opens this file waits for what nobody writes.
  await rm(path);
  execFileSync('mkfifo', [path]);
  const { id: verification } = await ask('POST', 'verifications/', {});
  const look = () => ask('GET', `verifications/${verification}/`);
  await eventually('no worker begins', async () => (await look()).status === 'Running');
  assert.equal(await workVerifications(engine, new AbortController().signal), 0);
  await worker.kill();
  await rm(path);
  await writeFile(path, bytes);
  assert.equal((await look()).status, 'Running');
  // The silence after which a worker is believed dead is over.
  await db.run(sql`UPDATE batch_export_verifications
    SET claimed_at = claimed_at - interval '1 minute'`);
  assert.equal(await workVerifications(engine, new AbortController().signal), 1);
  const { status, differences, progress } = await look();
  assert.deepEqual([status, differences, progress.deliveries_checked], ['Completed', 0, 3]);
});
