import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { is_deep } from '../../../../test/depth.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import {
  deliver,
  linesOf,
  toFolder,
} from '../../../../test/factories/batch_exports/query_deliveries.ts';

const exporting = aroundTests(openQueryHarness);

/** The modes at a time: first `missing` or `all` in turn, then `all`; with --deep first both. */
function modesOf(number: number, time: number): string[] {
  if (is_deep) return time === 0 ? ['missing', 'all'] : ['all'];
  return [time === 0 && number % 2 === 0 ? 'missing' : 'all'];
}

test('a backfill runs the query over each interval, and a dry run counts its rows', async () => {
  const rowWise = await deliver(exporting, 'filled', 'SELECT event FROM events');
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T03:00:00Z' };
  const total = async ({ created }: typeof rowWise, mode: string) =>
    (await created.send('POST', 'backfill/', { ...range, mode, dry_run: true })).body.backfill
      .progress.records_total_count;
  assert.deepEqual([await total(rowWise, 'missing'), await total(rowWise, 'all')], [0, 6]);
  const grouped = await deliver(exporting, 'grouped', 'SELECT count() AS n FROM events');
  // An aggregate without GROUP BY gives a row over no rows too.
  assert.deepEqual([await total(grouped, 'missing'), await total(grouped, 'all')], [3, 3]);
  const { backfill } = (await grouped.created.send('POST', 'backfill/', { ...range, mode: 'all' }))
    .body;
  await exporting.advance(grouped.created.id, backfill.id);
  assert.deepEqual(
    (await exporting.filesIn('grouped', '.jsonl')).map(linesOf),
    [1, 2, 3, 4, 5, 6].map(() => [{ n: 2 }]),
  );
  const tooLong = await grouped.created.send('POST', 'backfill/', {
    start_at: '2020-01-01T00:00:00Z',
    end_at: '2026-01-01T03:00:00Z',
    mode: 'all',
    dry_run: true,
  });
  assert.deepEqual([tooLong.status, tooLong.body.attr], [400, 'start_at']);
});

test('a backfill follows the plan of its dry run, in any cut and count', async () => {
  type Planned = {
    data_interval_start: string;
    data_interval_end: string;
    records_total_count: number;
    backfill?: string;
  };
  const planned = ({ data_interval_start, data_interval_end, records_total_count }: Planned) => [
    data_interval_start,
    data_interval_end,
    records_total_count,
  ];
  // With the times to select by, and the number of rows that the schedule has delivered; null
  // where runs are counted one by one.
  const cases: [string, string | null, object, string[], number | null][] = [
    [
      'plan_events',
      null,
      toFolder('plan_events', { exclude_events: ['view'] }),
      ['timestamp', 'inserted_at'],
      3,
    ],
    ['plan_persons', null, { model: 'persons' }, ['inserted_at'], 3],
    ['plan_days', null, { interval: 'day' }, ['timestamp'], 2],
    ['plan_weeks', null, { interval: 'week' }, ['timestamp'], 2],
    [
      'plan_rows',
      "SELECT event FROM events WHERE event = 'buy'",
      {},
      ['timestamp', 'inserted_at'],
      3,
    ],
    [
      'plan_now',
      'SELECT event FROM events WHERE timestamp < now() - INTERVAL 40 MINUTE',
      {},
      ['timestamp'],
      null,
    ],
    [
      'plan_groups',
      'SELECT event, count() AS n FROM events GROUP BY event',
      {},
      ['timestamp'],
      null,
    ],
  ];
  // Weeks are cut as days are, and now() is counted run by run as groups are.
  const tried = cases.filter(([name]) => is_deep || !['plan_weeks', 'plan_now'].includes(name));
  for (const [number, [prefix, query, more, times, delivered]] of tried.entries()) {
    // By one of its times in turn; by each of them with --deep.
    const tried_times = is_deep ? times : [times[number % times.length]!];
    // Delivered rows count in the mode `missing`.
    const isDelivered = tried_times.some((_, index) => modesOf(number, index).includes('missing'));
    const hours = isDelivered ? 3 : 1;
    const { home, created } = await deliver(exporting, prefix, query, more, hours);
    // Days of Noronha turn at 02:00 in UTC. One event was taken in after the scheduled runs, and
    // one person changed in two hours.
    await exporting.harness.deps.db.run(
      sql`UPDATE batch_exports SET timezone = 'America/Noronha' WHERE id = ${created.id}`,
    );
    const changes = [1, 2].map((version) => ({
      distinct_id: 'd7',
      at: `2026-01-01T0${version}:59:00Z`,
      version,
    }));
    await exporting.insert(home, [{ event: 'buy', at: '2026-01-01T03:20:00Z' }], changes);
    for (const [index, by] of tried_times.entries()) {
      for (const mode of modesOf(number, index)) {
        const range = {
          start_at: '2026-01-01T00:05:00Z',
          end_at: '2026-01-01T03:30:00.5Z',
          by,
          mode,
        };
        const { backfill: dry } = (
          await created.send('POST', 'backfill/', { ...range, dry_run: true })
        ).body;
        const { backfill } = (await created.send('POST', 'backfill/', range)).body;
        await exporting.advance(created.id, backfill.id);
        const runs: Planned[] = (await created.get('runs/?ordering=data_interval_start&limit=1000'))
          .body.results;
        const done = runs.filter(
          (run) => run.backfill === backfill.id && run.records_total_count > 0,
        );
        const name = `${prefix} ${by} ${mode}`;
        assert.deepEqual(dry.plan.runs.map(planned), done.map(planned), name);
        assert.equal(dry.plan.runs_with_records, done.length, name);
        if (mode === 'missing') assert.equal(dry.plan.records_delivered_count, delivered, name);
        assert.deepEqual(
          [dry.start_at, dry.end_at, dry.runs, dry.by],
          [backfill.start_at, backfill.end_at, backfill.runs, backfill.by],
          name,
        );
        const { progress } = (await created.get(`backfills/${backfill.id}/`)).body;
        assert.equal(dry.progress.records_total_count, progress.records_total_count, name);
      }
    }
  }
});
