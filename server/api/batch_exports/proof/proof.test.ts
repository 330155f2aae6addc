import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import yauzl from 'yauzl';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { readReceipt } from '../../../engine/exports/runs/receipt.ts';

const exporting = aroundTests(openQueryHarness);
const range = 'after=2026-01-01T00:00:00Z&before=2026-01-01T04:00:00Z';

/** Four hours with three events each, one of which is named `skipped`. */
async function homeWithEvents(): Promise<TestOrganization> {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(
    home,
    Array.from({ length: 12 }, (_, n) => ({
      event: n % 3 === 0 ? 'skipped' : 'kept',
      at: `2026-01-01T0${Math.floor(n / 3)}:10:0${n % 3}Z`,
    })),
  );
  return home;
}

const toFiles = (prefix: string, more: object = {}) => ({
  name: prefix,
  destination: { type: 'File', config: { prefix, ...more } },
});

test('each stored row is delivered, left out, or waits, by either clock', async () => {
  const home = await homeWithEvents();
  const body = toFiles('proof', { exclude_events: ['skipped'] });
  const { id, get } = await exporting.scheduled(home, body, 3);
  await exporting.runAll(id);
  const { body: proof } = await get(`proof/?${range}`);
  assert.equal(
    proof.detail,
    '12 rows stored: 6 delivered, 4 left out by the filter, 2 not delivered.',
  );
  assert.deepEqual(proof.totals, {
    stored: 12,
    left_out: 4,
    delivered: 6,
    delivered_twice: 0,
    set_aside: 0,
    in_progress: 0,
    waiting: 0,
    not_delivered: 2,
    erased: 0,
  });
  assert.equal(proof.unit, 'hour');
  assert.deepEqual(
    proof.periods.map((one: typeof proof.totals) => [one.stored, one.delivered, one.not_delivered]),
    [
      [3, 2, 0],
      [3, 2, 0],
      [3, 2, 0],
      [3, 0, 2],
    ],
  );
  const { body: happened } = await get(`proof/?${range}&by=timestamp`);
  assert.deepEqual(happened.totals, proof.totals);
  await exporting.extend(id, 4);
  const { body: waiting } = await get(`proof/?${range}`);
  assert.deepEqual([waiting.totals.waiting, waiting.totals.not_delivered], [2, 0]);
  await exporting.runAll(id);
  const { body: whole } = await get(`proof/?${range}`);
  assert.deepEqual([whole.totals.delivered, whole.totals.waiting], [8, 0]);
});

test('rows that a backfill has delivered again are counted as delivered twice', async () => {
  const home = await homeWithEvents();
  const { id, get, send } = await exporting.scheduled(home, toFiles('twice'), 4);
  await exporting.runAll(id);
  const again = {
    start_at: '2026-01-01T01:00:00Z',
    end_at: '2026-01-01T02:00:00Z',
    by: 'inserted_at',
    mode: 'all',
  };
  const { body } = await send('POST', 'backfill/', again);
  await exporting.advance(id, body.backfill.id);
  const { body: proof } = await get(`proof/?${range}`);
  assert.deepEqual([proof.totals.delivered, proof.totals.delivered_twice], [12, 3]);
});

test('the rows of a query that aggregates are stored, and cannot be compared', async () => {
  const home = await homeWithEvents();
  const custom_query = 'SELECT event, count() AS times FROM events GROUP BY event';
  const { id, get } = await exporting.scheduled(home, { ...toFiles('sums'), custom_query }, 4);
  await exporting.runAll(id);
  const { body: proof } = await get(`proof/?${range}`);
  assert.deepEqual([proof.totals.stored, proof.totals.delivered], [12, null]);
  assert.match(proof.detail, /cannot be traced/);
});

test('a range that is empty, too long or of a time that persons lack is refused', async () => {
  const home = await exporting.harness.newOrganization();
  const { get } = await exporting.scheduled(home, { ...toFiles('wrong'), model: 'persons' });
  const refused = async (query: string) => {
    const { status, body } = await get(`proof/?${query}`);
    return [status, body.attr];
  };
  assert.deepEqual(await refused(`${range}&by=timestamp`), [400, 'by']);
  assert.deepEqual(await refused('after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z'), [
    400,
    'after',
  ]);
  assert.deepEqual(await refused('after=1990-01-01T00:00:00Z&before=2026-01-01T00:00:00Z'), [
    400,
    'after',
  ]);
});

/** The files of an archive by their names. */
async function filesIn(archive: Buffer): Promise<Map<string, string>> {
  const zip = await yauzl.fromBufferPromise(archive);
  const files = new Map<string, string>();
  for await (const entry of zip.eachEntry()) {
    const content = await buffer(await zip.openReadStreamPromise(entry));
    files.set(entry.fileName, content.toString('utf8'));
  }
  return files;
}

test('the receipts of a range come as a zip file that needs nothing else', async () => {
  const home = await homeWithEvents();
  const { id } = await exporting.scheduled(home, toFiles('receipts'), 4);
  await exporting.runAll(id);
  const { app, deps } = exporting.harness;
  const url = `/api/projects/${home.project.id}/batch_exports/${id}/receipts/`;
  const download = async (query: string) => {
    const answer = await app.inject({
      url: `${url}?${query}`,
      headers: { authorization: `Bearer ${home.key}` },
    });
    assert.equal(answer.headers['content-type'], 'application/zip');
    return filesIn(answer.rawPayload);
  };
  const files = await download('after=2026-01-01T01:00:00Z&before=2026-01-01T03:00:00Z');
  const { public_key } = deps.secrets;
  assert.equal(files.get('public_key.txt'), `${public_key}\n`);
  assert.match(files.get('README.txt')!, /Check a signature/);
  const receipts = [...files].filter(([name]) => name.startsWith('receipts/'));
  assert.deepEqual(
    receipts.map(([name]) => name.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '...')),
    ['020000', '010000'].map((time) => `receipts/2026-01-01/${time}-....receipt.json`),
  );
  for (const [, text] of receipts) assert.equal(readReceipt(text, public_key)?.records, 3);
  // More than one page of receipts is read from the control store.
  assert.equal((await download('')).size, 6);
});
