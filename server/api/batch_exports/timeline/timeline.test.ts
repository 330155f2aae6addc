import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { failed, endedRun } from '../../../../test/factories/batch_exports/ended_runs.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { endRun } from '../../../engine/exports/runs/end_runs.ts';
import { retryLater } from '../../../engine/exports/runs/progress.ts';
import { claimRun } from '../../../engine/exports/workers/claims.ts';
import { inReadTurn } from '../../../platform/http/limits/owner_turns.ts';
import type { TimelineEntry } from './schema.ts';

const harness = shareHarness({ clickhouse: false });

async function withExport() {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const url = `${projectBase(home)}${id}/`;
  return {
    home,
    id: id as string,
    send: (method: string, path: string, body: unknown = {}) =>
      home.ask(method, `${url}${path}`, body),
    timeline: async (query = '', key = home.key) => {
      const answer = await harness.request('GET', `${url}timeline/${query}`, { key });
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    },
  };
}

test('one stream of runs, changes, pauses, backfills and notices', async () => {
  const { home, id, send, timeline } = await withExport();
  await send('PATCH', '', { name: 'Renamed' });
  await send('POST', 'pause/');
  await send('POST', 'unpause/');
  const asked = await send('POST', 'backfill/', {
    start_at: '2026-01-01T00:00:00Z',
    end_at: '2026-01-02T00:00:00Z',
  });
  await send('POST', `backfills/${asked.body.backfill.id}/cancel/`);
  await endedRun(harness, id, failed);
  const { results } = await timeline();
  const told = results.map(({ type, change, backfill, notice, runs }: TimelineEntry) =>
    [type, change?.activity ?? backfill?.has_ended ?? notice?.event ?? runs?.count].join(' '),
  );
  assert.deepEqual(told.toSorted(), [
    'backfill false',
    'backfill true',
    'change backfill_cancelled',
    'change backfilled',
    'change created',
    'change updated',
    'notice failing',
    'pause paused',
    'pause unpaused',
    'runs 1',
  ]);
  assert.equal(results.at(-1).change.activity, 'created');
  const updated = results.find((one: TimelineEntry) => one.change?.activity === 'updated');
  assert.deepEqual(
    [updated.change.changes[0].field, updated.change.changes[0].after],
    ['name', 'Renamed'],
  );
  assert.equal(updated.change.user.email, home.user.email);
  const some = await timeline('?type=pause,notice');
  assert.equal(some.results.length, 3);
  const narrow = await harness.newKey(home.user, { scopes: ['batch_export:read'] });
  const shown = await timeline('?type=change', narrow);
  assert.ok(shown.results.every(({ change }: TimelineEntry) => change!.user === null));
});

test('runs of a day that are alike are one entry; pages meet without gap, both ways', async () => {
  const { id, timeline } = await withExport();
  for (let hour = 0; hour < 60; hour += 1)
    await insertRunRow(harness, id, {
      hour,
      status: hour % 12 === 5 ? 'Failed' : 'Completed',
      total: 2,
    });
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET created_at = data_interval_end
    WHERE batch_export_id = ${id}`);
  await harness.deps.db.run(sql`UPDATE batch_export_runs
    SET created_at = created_at - interval '900 days'
    WHERE batch_export_id = ${id} AND data_interval_end <= '2026-01-01T06:00:00Z'`);
  const whole: TimelineEntry[] = (await timeline('?type=runs')).results;
  assert.equal(
    whole.reduce((sum, { runs }) => sum + runs!.count, 0),
    60,
  );
  assert.deepEqual(
    whole.map(({ at, runs }) => [at.slice(0, 10), runs!.status, runs!.count]),
    [
      ['2026-01-03', 'Completed', 12],
      ['2026-01-03', 'Failed', 1],
      ['2026-01-02', 'Completed', 22],
      ['2026-01-02', 'Failed', 2],
      ['2026-01-01', 'Completed', 16],
      ['2026-01-01', 'Failed', 1],
      ['2023-07-16', 'Failed', 1],
      ['2023-07-16', 'Completed', 5],
    ],
  );
  assert.equal(whole[0]!.runs!.records_completed, 24);
  const { rows: ends } = await harness.deps.db.text(
    `SELECT id, status FROM batch_export_runs WHERE batch_export_id = $1
      AND created_at >= '2026-01-03' ORDER BY created_at`,
    [id],
  );
  const completed = ends.filter(({ status }) => status === 'Completed').map((run) => run['id']);
  assert.deepEqual(
    [whole[0]!.runs!.first_run, whole[0]!.runs!.last_run, whole[0]!.id],
    [completed[0], completed.at(-1), completed.at(-1)],
  );
  const all: string[] = (await timeline()).results.map((one: TimelineEntry) => one.id);
  const local = (url: string) => `?${url.split('?')[1]}`;
  const pages: string[][] = [];
  let page = await timeline('?limit=2');
  for (;;) {
    pages.push(page.results.map((one: TimelineEntry) => one.id));
    if (page.next === null) break;
    page = await timeline(local(page.next));
  }
  assert.deepEqual(pages.flat(), all);
  for (const wanted of pages.slice(0, -1).toReversed()) {
    page = await timeline(local(page.previous));
    assert.deepEqual(
      page.results.map((one: TimelineEntry) => one.id),
      wanted,
    );
  }
  const cut = await timeline('?type=runs&after=2026-01-03T00:00:00Z');
  assert.equal(cut.results.length, 2);
  const { statementCount } = harness.deps.db;
  const shortest = statementCount();
  await timeline('?type=pause');
  const others = statementCount() - shortest;
  const begun = statementCount();
  const old = await timeline('?type=runs&before=2023-07-17T00:00:00Z');
  assert.equal(old.results.length, 2);
  // From `before` on, and not from now: the first window has them, and none are behind it.
  assert.ok(statementCount() - begun <= others, `${statementCount() - begun}, not ${others}`);
});

test('an outage that is over leaves an entry with times, attempts, cause and rows', async () => {
  const { id, timeline } = await withExport();
  const { db, engine } = harness.deps;
  const at = (clock: string) => `2026-01-05T${clock}:00Z`;
  const deliverAt = async (hour: number, began: string, ended: string, faults: string[]) => {
    const run_id = await insertRunRow(harness, id, { hour, status: 'Starting' });
    for (const message of faults) {
      const run = await claimRun(db, run_id, randomUUID());
      await retryLater(engine, run!, { code: 'unreachable', message });
    }
    await db.run(sql`UPDATE batch_export_runs SET records_completed = 100, started_at = ${at(began)}
      WHERE id = ${run_id}`);
    await endRun(engine, (await claimRun(db, run_id, randomUUID()))!, { status: 'Completed' });
    await db.run(sql`UPDATE batch_export_runs SET finished_at = ${at(ended)},
      created_at = ${at(began)} WHERE id = ${run_id}`);
  };
  await deliverAt(0, '03:00', '03:02', ['The disk is full.']);
  await deliverAt(1, '04:00', '04:01', []);
  await deliverAt(2, '22:20', '22:31', ['The host is gone.', 'The server does not answer.']);
  await deliverAt(3, '22:25', '22:30', ['The server does not answer.']);
  const { results } = await timeline('?type=runs');
  assert.deepEqual(
    results.map(({ runs }: TimelineEntry) => [runs!.count, runs!.records_completed, runs!.outage]),
    [
      [
        2,
        200,
        {
          began_at: '2026-01-05T22:20:00.000000Z',
          delivered_at: '2026-01-05T22:31:00.000000Z',
          failed_attempts: 3,
          cause: 'The server does not answer.',
        },
      ],
      [1, 100, null],
      [
        1,
        100,
        {
          began_at: '2026-01-05T03:00:00.000000Z',
          delivered_at: '2026-01-05T03:02:00.000000Z',
          failed_attempts: 1,
          cause: 'The disk is full.',
        },
      ],
    ],
  );
});

test('only requests that read all runs wait for their turn', async () => {
  const { home, send } = await withExport();
  const { backfill } = (
    await send('POST', 'backfill/', {
      start_at: '2026-01-01T00:00:00Z',
      end_at: '2026-01-02T00:00:00Z',
    })
  ).body;
  const held = Promise.withResolvers<void>();
  const turns = [1, 2].map(() => inReadTurn(home.organization.id, () => held.promise));
  const answered: string[] = [];
  const ask = async (path: string) => {
    const { status } = await send('GET', path, undefined);
    answered.push(`${path} ${status}`);
  };
  const heavy = ['metrics/', 'timeline/', 'backfills/', `backfills/${backfill.id}/`];
  const asked = heavy.map(ask);
  await ask('runs/');
  await setTimeout(20);
  assert.deepEqual(answered, ['runs/ 200'], 'what is quick does not wait');
  held.resolve();
  await Promise.all([...turns, ...asked]);
  assert.deepEqual(
    answered.toSorted(),
    [...heavy, 'runs/'].map((path) => `${path} 200`).toSorted(),
  );
});

test('rows that an erasure has written once more are counted once', async () => {
  const { id, timeline } = await withExport();
  const first = await insertRunRow(harness, id, { status: 'Completed', total: 10 });
  const again = { status: 'Completed', total: 9, delivery_id: first, replaces: true } as const;
  await insertRunRow(harness, id, again);
  const { results } = await timeline('?type=runs');
  assert.deepEqual(
    results.map(({ runs }: TimelineEntry) => [runs!.count, runs!.records_completed]),
    [[2, 10]],
  );
});
