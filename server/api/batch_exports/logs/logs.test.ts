import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { patternOf } from './store.ts';

const harness = shareHarness({ clickhouse: false });

test('a search text finds itself and nothing that only looks like it', () => {
  assert.deepEqual(['', 'a', '50%', 'a_b', '\\'].map(patternOf), [
    '%%',
    '%a%',
    '%50\\%%',
    '%a\\_b%',
    '%\\\\%',
  ]);
});

async function withLogs() {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const run = await insertRunRow(harness, created.id);
  await harness.deps.db.run(
    sql`DELETE FROM batch_export_logs WHERE batch_export_id = ${created.id}`,
  );
  const lines: [string | null, string, string][] = [
    [null, 'DEBUG', 'zero'],
    [run, 'INFO', 'One 50% done'],
    [run, 'WARNING', 'two_b'],
    [null, 'ERROR', 'three \\ 500 done'],
    [run, 'ERROR', 'FOUR twoXb'],
  ];
  for (const [index, [run_id, level, message]] of lines.entries()) {
    await harness.deps.db.run(
      sql`INSERT INTO batch_export_logs (batch_export_id, run_id, "timestamp", level, message)
        VALUES (${created.id}, ${run_id}, ${`2026-01-01T00:00:0${index}Z`}, ${level}, ${message})`,
    );
  }
  return { home, created, run, url: `${projectBase(home)}${created.id}/` };
}

const words = (answer: { body: { results: { message: string }[] } }) =>
  answer.body.results.map((line) => line.message.split(' ')[0]);

test('logs answer the record with its lines beside it, newest first', async () => {
  const { home, created, run, url } = await withLogs();
  const logs = await home.ask('GET', `${url}logs/`);
  const { count, next, previous, results, ...record } = logs.body;
  assert.deepEqual({ ...record, latest_runs: [] }, created);
  assert.deepEqual(
    [count, next, previous, words(logs)],
    [5, null, null, ['FOUR', 'three', 'two_b', 'One', 'zero']],
  );
  assert.deepEqual(results[0], {
    timestamp: '2026-01-01T00:00:04.000000Z',
    level: 'ERROR',
    message: 'FOUR twoXb',
    run,
  });
  const ofRun = await home.ask('GET', `${organizationBase(home)}${created.id}/runs/${run}/logs/`);
  assert.deepEqual(
    [ofRun.body.id, ofRun.body.batch_export, ofRun.body.count, words(ofRun)],
    [run, created.id, 3, ['FOUR', 'two_b', 'One']],
  );
});

test('filters of logs', async () => {
  const { home, url } = await withLogs();
  const cases: [string, string[]][] = [
    ['limit=2', ['FOUR', 'three']],
    ['limit=2&offset=4', ['zero']],
    ['level=error', ['FOUR', 'three']],
    ['level=Error,debug', ['FOUR', 'three', 'zero']],
    ['level=INFO&level=WARNING', ['two_b', 'One']],
    ['after=2026-01-01T00:00:02.000000Z', ['FOUR', 'three']],
    ['before=2026-01-01T00:00:02.000000Z', ['One', 'zero']],
    ['after=2026-01-01T01:00:00%2B01:00&before=2026-01-01T00:00:03.000000Z', ['two_b', 'One']],
    ['search=TWO', ['FOUR', 'two_b']],
    ['search=two_', ['two_b']],
    ['search=50%25', ['One']],
    ['search=%5C', ['three']],
    ['search=nothing', []],
    ['unknown=1', ['FOUR', 'three', 'two_b', 'One', 'zero']],
  ];
  for (const [query, expected] of cases)
    assert.deepEqual(words(await home.ask('GET', `${url}logs/?${query}`)), expected, query);
  const page = await home.ask('GET', `${url}logs/?limit=2&level=ERROR,INFO,WARNING`);
  assert.deepEqual([page.body.count, page.body.previous], [4, null]);
  const second = await home.ask(
    'GET',
    new URL(page.body.next).pathname + new URL(page.body.next).search,
  );
  assert.deepEqual([words(second), second.body.next], [['two_b', 'One'], null]);
});

test('wrong parameters of logs are 400', async () => {
  const { home, run, url } = await withLogs();
  for (const path of [`${url}logs/`, `${url}runs/${run}/logs/`]) {
    for (const query of [
      'limit=0',
      'limit=501',
      'limit=x',
      'limit=',
      'limit=-1',
      'offset=-1',
      'level=LOUD',
      'level=',
      'after=yesterday',
      'before=2026-01-01',
      'after=2026-01-01T00:00:00',
      'search=%00',
      'limit=1&limit=2',
      `search=${'x'.repeat(1001)}`,
    ]) {
      const answer = await home.ask('GET', `${path}?${query}`);
      assert.equal(answer.status, 400, query);
      assert.equal(answer.body.attr, query.split('=')[0], query);
    }
  }
});
