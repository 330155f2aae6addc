import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { commandOn } from '../../../test/factories/backups.ts';
import {
  insertAt,
  openDeliveringHarness,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { withDatabase } from '../../../test/harness_stores.ts';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { silentLog } from '../../platform/log.ts';
import { UserError } from '../user_error.ts';
import { waitForClickHouse } from '../stores/wait_for_stores.ts';
import { migrateStore } from './command.ts';
import { copyRows } from './copy_rows.ts';
import type { Move } from './copy_rows.ts';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const day_ms = 24 * 3_600_000;
const start_at = Date.parse('2026-01-30T12:00:00Z');

let delivering: DeliveringHarness;
let home: TestOrganization;
/** Another database of the same server: a move looks at nothing beside its own one. */
let other: ClickHouse;
let to: string;
const name = `moved_${randomBytes(6).toString('hex')}`;
before(async () => {
  delivering = await openDeliveringHarness();
  await delivering.harness.deps.clickhouse.command({ query: `CREATE DATABASE ${name}` });
  to = withDatabase(delivering.stores.clickhouse_url, name);
  other = openClickHouse(to, { application: 'test' });
  home = await delivering.harness.newOrganization();
  // Five days in two months.
  await insertDays([0, 1, 2, 3, 9], 100);
});
after(async () => {
  await other.close();
  await delivering.harness.deps.clickhouse.command({ query: `DROP DATABASE ${name}` });
  await delivering.close();
});

const insertDays = (days: number[], count: number) =>
  insertAt(
    delivering.harness,
    home,
    days.flatMap((day) =>
      Array.from({ length: count }, (_, number) => ({
        event: `event ${number}`,
        happened: start_at + day * day_ms + number,
        taken: start_at + day * day_ms + number,
      })),
    ),
  );
const source = () => commandOn(delivering.stores, delivering.folder);
const send = async (event: string) => {
  const { status } = await delivering.harness.request('POST', '/api/projects/@current/events/', {
    key: home.key,
    body: { events: [{ event, distinct_id: 'ada', timestamp: '2026-02-01T00:00:00Z' }] },
  });
  return status;
};
const sum = `SELECT count() AS rows, toString(sum(cityHash64(uuid, event, inserted_at))) AS digest
  FROM events`;
const here = async (query = sum) => {
  const answer = await delivering.harness.deps.clickhouse.query({ query, format: 'JSONEachRow' });
  return answer.json();
};
const there = async (query = sum) => (await other.query({ query, format: 'JSONEachRow' })).json();

test('a killed copy continues, and the server keeps running', async () => {
  const child = spawn(process.execPath, [main, 'migrate-store', '--to', to], {
    env: { ...leastEnvironment(), ...source().environment },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  await eventually('nothing was copied', async () => {
    const [row] = (await there(sum).catch(() => [])) as { rows: string }[];
    return Number(row?.rows ?? 0) > 0;
  });
  child.kill('SIGKILL');
  await exited;
  await assert.rejects(
    waitForClickHouse(other, silentLog(), 1_000),
    /the move into it has not ended.*migrate-store --to \.\.\. --switch/,
  );
  // Days that were copied, and are not what they were: one with a row too many, one with another.
  const spoil = (query: string) =>
    other.command({ query, clickhouse_settings: { mutations_sync: '2' } });
  const insert = 'INSERT INTO events (team_id, inserted_at) VALUES';
  await spoil(`${insert} (9, '2026-01-30 13:00:00'), (9, '2026-01-31 13:00:00')`);
  await spoil(`ALTER TABLE events DELETE WHERE event = 'event 7' AND team_id != 9
    AND toDate(inserted_at) = '2026-01-31'`);
  assert.equal(await send('while it goes on'), 200);
  const context = source();
  assert.equal(await migrateStore(context, { to }), 0, context.said.join('\n'));
  assert.deepEqual(await there(), await here());
  assert.match(context.said.join('\n'), /events 202601: the same on both sides/);
  assert.match(context.said.join('\n'), /events 202602: the same on both sides/);
  assert.equal(await send('after it'), 200);
});

test('a day that may get rows still is hashed again, though as many rows are there', async () => {
  const { clickhouse } = delivering.harness.deps;
  const move: Move = {
    source: clickhouse,
    target: other,
    named: (table) => table,
    tell: () => {},
    known: new Map(),
    open_from: '2026-02-08',
  };
  await copyRows(move);
  await clickhouse.command({
    query: `ALTER TABLE events DELETE
      WHERE event = 'event 7' AND toDate(inserted_at) = '2026-02-08'`,
    clickhouse_settings: { mutations_sync: '2' },
  });
  const at = start_at + 9 * day_ms + 7;
  await insertAt(delivering.harness, home, [{ event: 'event 107', happened: at, taken: at }]);
  assert.equal(await copyRows(move), 100);
  assert.deepEqual(await there(), await here());
});

test('a switch copies the last rows and closes the store; it may be undone', async () => {
  await send('one more');
  const project = await delivering.harness.deps.db.row<{ id: number }>(
    sql`SELECT id FROM projects WHERE id = ${home.project.id}`,
  );
  assert.ok(project);
  const context = source();
  assert.equal(await migrateStore(context, { to, switch: true }), 0);
  assert.match(context.said.at(-1)!, /Set SLUICE_CLICKHOUSE_URL/);
  await waitForClickHouse(other, silentLog(), 1_000);
  assert.equal(await send('nobody may take it'), 503);
  await assert.rejects(
    waitForClickHouse(delivering.harness.deps.clickhouse, context.log, 1_000),
    /are being moved.*was interrupted, run it again first.*migrate-store --undo/,
  );
  // Newer rows may be there by now, so nothing is copied over them.
  await assert.rejects(migrateStore(source(), { to, switch: true }), /newer rows/);
  assert.equal(await migrateStore(source(), { undo: true }), 0);
  assert.deepEqual(await there(), await here());
  const names = await there("SELECT DISTINCT event FROM events WHERE event NOT LIKE 'event %'");
  assert.deepEqual((names as { event: string }[]).map(({ event }) => event).sort(), [
    'after it',
    'one more',
    'while it goes on',
  ]);
  assert.deepEqual(
    await there('SELECT count() AS rows FROM persons'),
    await here('SELECT count() AS rows FROM persons'),
  );
  assert.equal(await send('with the old one again'), 200);
});

test('the same store, and one with rows of others, is refused', async () => {
  const { clickhouse_url } = delivering.stores;
  const itself = /--to is the store that the server already uses/;
  await assert.rejects(migrateStore(source(), { to: clickhouse_url }), itself);
  await there('DROP TABLE moves');
  await assert.rejects(migrateStore(source(), { to }), /from another source/);
  await assert.rejects(migrateStore(source(), {}), /--to/);
  await assert.rejects(
    migrateStore(source(), { to: 'nowhere' }),
    (error: Error) => error instanceof UserError && error.message.startsWith('--to must be a URL'),
  );
});
