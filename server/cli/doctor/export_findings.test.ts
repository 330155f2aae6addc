import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { reconcileAll } from '../../engine/exports/reconcile/reconcile.ts';
import { setAside } from '../../engine/exports/runs/hold_until_reconciled.ts';
import { lookAtExports } from './export_findings.ts';
import { aroundTests } from '../../../test/around_tests.ts';

// Its own, for all exports of a server are set aside at once.
let home: TestOrganization;
const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    home = await opened.newOrganization();
  },
);

test('an export that waits since a restore says so, and what to do', async () => {
  const { engine } = harness.deps;
  const destination = { type: 'HTTP', config: { url: 'http://127.0.0.1:2/rows' } };
  const created = await newExport(home, { name: 'Orders', destination });
  const byPerson = await newExport(home, { name: 'By a person', paused: true });
  const url = `${projectBase(home)}${created.id}/`;
  const read = async (at: string) => (await harness.request('GET', at, { key: home.key })).body;
  const look = async () => (await lookAtExports(engine.db, 0)).map(({ detail }) => detail);
  const taken_at = '2026-03-04T05:06:07.000Z';
  assert.deepEqual(await look(), []);
  await setAside(engine.db, { taken_at, control_taken_at: taken_at });
  await setAside(engine.db, { taken_at, control_taken_at: taken_at });

  const asked =
    /a backup of 2026-03-04T05:06:07\.0+Z .* nobody has started that yet\. .*-- reconcile`/;
  assert.equal((await look()).length, 2);
  assert.match((await look())[0]!, new RegExp(`^"Orders" \\(${created.id}\\) waits\\. This `));
  assert.match((await look())[0]!, asked);
  const { paused, pause_reason } = await read(url);
  assert.deepEqual([paused, pause_reason.code], [true, 'not_reconciled']);
  assert.match(pause_reason.detail, asked);
  const [overview] = (
    await read(projectBase(home).replace('batch_exports', 'overview'))
  ).results.filter(({ id }: { id: string }) => id === created.id);
  assert.equal(overview.health.code, 'paused_automatically');
  assert.match(overview.health.detail, asked);
  // The server gives no reason for an export that a person paused; it waits too.
  assert.equal((await read(`${projectBase(home)}${byPerson.id}/`)).pause_reason, null);
  assert.match((await read(`${projectBase(home)}${byPerson.id}/runs/`)).detail, asked);

  // The destination cannot say it: that is the reason from now on, also of a refused unpause.
  await reconcileAll(engine, { only: created.id });
  const cannot = /Its rows cannot be read again, .* --assume delivered/;
  assert.match((await read(url)).pause_reason.detail, cannot);
  const refused = await harness.request('POST', `${url}unpause/`, { key: home.key });
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, cannot);
  const by_person = `${projectBase(home)}${byPerson.id}/`;
  const body = { paused: false };
  const patched = await harness.request('PATCH', by_person, { key: home.key, body });
  assert.equal(patched.status, 409);
  assert.match(patched.body.detail, asked);
  const ahead = await read(`${url}runs/`);
  assert.match(ahead.detail, /^The export waits\. .* no run is planned until it is unpaused\./);
  assert.match(ahead.detail, cannot);
  assert.match((await look())[0]!, cannot);

  await setAside(engine.db, { taken_at, control_taken_at: taken_at });
  await reconcileAll(engine, { only: created.id, assumption: 'delivered' });
  const settled = await read(url);
  assert.deepEqual([settled.paused, settled.pause_reason], [false, null]);
  assert.match((await read(`${url}runs/`)).detail, /^The next run delivers /);
  await engine.db.run(sql`DELETE FROM reconciliations`);
  assert.deepEqual(await look(), []);
});

test('an export whose verification stands still is named', async () => {
  const { db } = harness.deps;
  const destination = { type: 'HTTP', config: { url: 'http://127.0.0.1:2/rows' } };
  const { id } = await newExport(home, { name: 'Unseen', destination });
  await db.run(sql`INSERT INTO batch_export_watches (batch_export_id, revision, balance_ms)
    SELECT id, revision, 1 FROM batch_exports WHERE id = ${id}`);
  const look = async () => (await lookAtExports(db, 0)).filter(({ detail }) => detail.includes(id));
  assert.deepEqual(await look(), []);
  const run = await insertRunRow(harness, id, { status: 'Completed' });
  await db.run(sql`UPDATE batch_export_runs SET receipt = '{}',
    created_at = now() - interval '3 hours', finished_at = now() - interval '2 hours'
    WHERE id = ${run}`);
  const [finding] = await look();
  assert.match(finding!.detail, /^"Unseen" .* that its scheduled verification has not read/);
  await db.run(sql`UPDATE batch_export_watches SET verified_at = now()
    WHERE batch_export_id = ${id}`);
  assert.deepEqual(await look(), []);
});
