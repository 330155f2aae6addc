import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { lookAt } from '../../../../test/factories/batch_exports/looks.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';

const exporting = aroundTests(openQueryHarness);
const script = join(import.meta.dirname, '../../../../examples/verify_receipts/verify.py');

/** An hourly export to files of two hours, whose first file is gone and found so. */
async function differing() {
  const home = await exporting.harness.newOrganization();
  const prefix = `differing-${randomUUID()}`;
  await exporting.insert(
    home,
    Array.from({ length: 8 }, (_, n) => ({
      event: `event ${n}`,
      at: `2026-01-01T0${Math.floor(n / 4)}:1${n % 4}:00Z`,
      properties: { n },
    })),
  );
  const destination = { type: 'File', config: { prefix } };
  const made = await exporting.scheduled(home, { name: 'audited', destination });
  await exporting.runAll(made.id);
  const folder = join(exporting.folder, prefix);
  const [first] = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  await rm(join(folder, first!));
  const look = () => lookAt(exporting.harness.deps, made.id);
  await look();
  const list = async (state: string) =>
    (await made.get(`deviations/?state=${state}`)).body.results as Record<string, any>[];
  const shown = async () =>
    (await home.ask('GET', `/api/projects/${home.project.id}/batch_exports/${made.id}/`)).body;
  return { home, ...made, look, list, shown };
}

test('a finding holds verified through back until a person accepts it', async () => {
  const one = await differing();
  const [found] = await one.list('open');
  assert.equal(found!['kind'], 'missing');
  assert.match(found!['detail'], /^1 file of 1 January 2026 is missing from differing-/);
  assert.equal(found!['repair'].action, 'rewrite');
  const before = await one.shown();
  assert.deepEqual(
    [before.verified_through, before.verification.state, before.verification.deviations],
    [null, 'differing', 1],
  );
  const path = `deviations/${found!['id']}/accept/`;
  assert.equal((await one.send('POST', path, {})).body.attr, 'reason');
  const accepted = await one.send('POST', path, { reason: 'It moved to the archive.' });
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  assert.match(accepted.body.accepted_by, /@example\.com>?$/);
  await one.look();
  const after = await one.shown();
  assert.deepEqual(
    [after.verified_through, after.verification.state, after.verification.accepted],
    ['2026-01-01T03:00:00.000000Z', 'verified', 1],
  );
});

test('a finding is repaired by one action, and resolved by the next look', async () => {
  const one = await differing();
  const [found] = await one.list('open');
  const path = `deviations/${found!['id']}/repair/`;
  const { db } = exporting.harness.deps;
  const of_export = sql`WHERE batch_export_id = ${one.id}`;
  await db.run(sql`UPDATE batch_export_watches SET balance_ms = -1000 ${of_export}`);
  const started = await one.send('POST', path, {});
  assert.deepEqual([started.status, started.body.action], [201, 'rewrite']);
  // Somebody waits for the next look, so it does not wait for the budget.
  const watch = await db.row<{ balance_ms: number }>(
    sql`SELECT balance_ms FROM batch_export_watches ${of_export}`,
  );
  assert.ok(watch!.balance_ms > 0);
  assert.equal((await one.send('POST', path, {})).status, 409);
  await exporting.runAll(one.id);
  await one.look();
  assert.deepEqual([(await one.list('open')).length, (await one.list('resolved')).length], [0, 1]);
  const { verification, verified_through } = await one.shown();
  assert.equal(verification.state, 'verified');
  assert.equal(verified_through, '2026-01-01T03:00:00.000000Z');
});

test('a restart ends findings about deliveries that no longer count', async () => {
  const one = await differing();
  const custom_query = 'SELECT uuid, event, timestamp, inserted_at FROM events';
  assert.equal((await one.send('PATCH', '', { custom_query })).status, 200);
  assert.deepEqual([(await one.list('open')).length, (await one.list('resolved')).length], [0, 1]);
  const { ranges } = (await one.get('earlier_deliveries/')).body;
  const { body } = await one.send('POST', 'backfill/', { ...ranges[0], mode: 'missing' });
  await exporting.advance(one.id, body.backfill.id);
  const overview = `/api/projects/${one.home.project.id}/overview/?batch_export=${one.id}`;
  const health = async () => (await one.home.ask('GET', overview)).body.results[0].health;
  assert.equal((await health()).missing_since_change, null);
  await one.look();
  assert.equal((await one.shown()).verification.state, 'verified');
  assert.equal((await health()).missing_since_change, null);
});

test('a statement is signed, says who accepted what, and a script checks it', async () => {
  const one = await differing();
  const [found] = await one.list('open');
  const reason = 'It moved to the archive.';
  await one.send('POST', `deviations/${found!['id']}/accept/`, { reason });
  const { home } = one;
  const path = `/api/projects/${home.project.id}/batch_exports/${one.id}/statement/`;
  const { text, body } = await home.ask('GET', path);
  assert.deepEqual([body.deliveries, body.verified.deliveries, body.read.records], [2, 1, 4]);
  assert.equal(body.findings[0].accepted_reason, reason);
  const file = join(exporting.folder, `statement-${one.id}.json`);
  const check = async (content: string) => {
    await writeFile(file, content);
    return spawnSync('python3', [script, file], { encoding: 'utf8' });
  };
  const right = await check(text);
  assert.equal(right.status, 0, right.stdout + right.stderr);
  assert.match(right.stdout, /accepted +1 file of 1 January 2026 is missing.*archive/);
  const wrong = await check(text.replace('"records":8', '"records":9'));
  assert.deepEqual([wrong.status, /not valid/.test(wrong.stdout)], [1, true]);
  const words = await home.ask('GET', `${path}?format=text`);
  assert.match(words.text, /Delivered: 2 deliveries with 8 rows/);
});

test('strangers get 404, readers may look and not accept', async () => {
  const one = await differing();
  const [found] = await one.list('open');
  const { harness } = exporting;
  const stranger = await harness.newOrganization();
  const reader = await harness.newMember(one.home.organization.id, 1, ['batch_export:read']);
  const url = `/api/projects/${one.home.project.id}/batch_exports/${one.id}/`;
  const own = `/api/projects/${stranger.project.id}/batch_exports/${one.id}/`;
  for (const path of ['deviations/', 'statement/']) {
    assert.equal((await stranger.ask('GET', `${own}${path}`)).status, 404, path);
    assert.equal((await reader.ask('GET', `${url}${path}`)).status, 200, path);
  }
  for (const act of ['accept', 'repair']) {
    const path = `deviations/${found!['id']}/${act}/`;
    const sent = act === 'accept' ? { reason: 'x' } : {};
    assert.equal((await stranger.ask('POST', `${own}${path}`, sent)).status, 404, path);
    assert.equal((await reader.ask('POST', `${url}${path}`, sent)).status, 403, path);
  }
});
