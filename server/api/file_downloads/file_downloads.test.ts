import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { countDownloads } from './read.ts';
import { open_downloads_max } from './routes.ts';
import { claimDownload, sweepDownloads } from './store.ts';

const harness = shareHarness();
const going = new AbortController().signal;
const march = { start_at: '2026-03-01T00:00:00Z', end_at: '2026-04-01T00:00:00Z' };
const baseOf = ({ project }: TestOrganization) => `/api/projects/${project.id}/file_downloads/`;

/** An organization with events in March, one of them in April. */
async function withEvents(): Promise<TestOrganization> {
  const home = await harness.newOrganization();
  const seen = (event: string, at: string, distinct_id = 'u') => ({
    event,
    distinct_id,
    timestamp: `2026-${at}Z`,
    properties: { note: 'x'.repeat(200) },
  });
  const events = [
    seen('viewed', '03-01T00:00:00'),
    seen('viewed', '03-15T12:00:00', 'gone'),
    seen('bought', '03-31T23:59:59'),
    seen('bought', '04-01T00:00:00'),
  ];
  const { status, text } = await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    events,
  });
  assert.equal(status, 200, text);
  return home;
}

/** Asks for a download, lets its rows become final, and counts it. */
async function counted(home: TestOrganization, body: object) {
  const asked = await home.ask('POST', baseOf(home), { ...march, ...body });
  assert.deepEqual([asked.status, asked.body.status], [202, 'Starting'], asked.text);
  await count();
  const { body: found } = await home.ask('GET', `${baseOf(home)}${asked.body.id}/`);
  return found;
}

/** Counts what waits, as if the time in which rows become final were over. */
const count = () => countDownloads({ ...harness.deps.engine, settle_seconds: 0 }, going);

/** The bytes of a part. */
async function part(home: TestOrganization, id: string, number: number) {
  const answer = await harness.request('GET', `${baseOf(home)}${id}/download/${number}/`, {
    key: home.key,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { event: string; distinct_id: string });

test('a range is counted, and fetched as the files of an export would be', async () => {
  const home = await withEvents();
  const found = await counted(home, {});
  assert.deepEqual(
    [found.status, found.records, found.parts.map(({ records }: any) => records)],
    ['Completed', 3, [3]],
    JSON.stringify(found),
  );
  const { text, headers } = await part(home, found.id, 1);
  assert.deepEqual(
    linesOf(text)
      .map(({ event }) => event)
      .toSorted(),
    ['bought', 'viewed', 'viewed'],
  );
  assert.equal(headers['content-type'], 'application/octet-stream');
  assert.equal(headers['content-disposition'], `attachment; filename="${found.parts[0].name}"`);
  assert.match(found.parts[0].name, /^events-2026-03-01-[0-9a-f]{12}-0001\.jsonl$/);
  for (const wrong of ['0', '2', 'x', '01'])
    assert.equal(
      (await home.ask('GET', `${baseOf(home)}${found.id}/download/${wrong}/`)).status,
      404,
    );
});

test('formats, compression and names of events are those of exports', async () => {
  const home = await withEvents();
  const csv = await counted(home, { file_format: 'CSV', include_events: ['bought'] });
  assert.equal(csv.records, 1);
  const { text } = await part(home, csv.id, 1);
  assert.deepEqual([text.trim().split('\n').length, /bought/.test(text)], [2, true]);
  const packed = await counted(home, { compression: 'gzip', exclude_events: ['bought'] });
  assert.match(packed.parts[0].name, /\.jsonl\.gz$/);
  const raw = await harness.app.inject({
    method: 'GET',
    url: `${baseOf(home)}${packed.id}/download/1/`,
    headers: { authorization: `Bearer ${home.key}` },
  });
  assert.equal(linesOf(gunzipSync(raw.rawPayload).toString()).length, 2);
  const persons = await counted(home, { model: 'persons', by: 'inserted_at', ...today() });
  assert.equal(persons.status, 'Completed', persons.detail);
});

/** A range of ingestion that has the events of the test. */
function today() {
  const now = harness.deps.clock.now();
  return {
    start_at: new Date(now - 3_600_000).toISOString(),
    end_at: new Date(now - 1).toISOString(),
  };
}

test('an export says which rows, and is not touched by it', async () => {
  const home = await withEvents();
  const { id } = await newExport(home, {
    custom_query: 'SELECT event, distinct_id FROM events',
    destination: { type: 'File', config: { prefix: 'a', include_events: ['viewed'] } },
  });
  const state = () =>
    harness.deps.db.rows(sql`SELECT planned_until, next_run_at, revision,
      (SELECT count(*) FROM batch_export_ledgers WHERE batch_export_id = ${id}) AS ledgers,
      (SELECT count(*) FROM batch_export_runs WHERE batch_export_id = ${id}) AS runs
      FROM batch_exports WHERE id = ${id}`);
  const before = await state();
  const found = await counted(home, { batch_export: id });
  assert.equal(found.records, 2, JSON.stringify(found));
  const [row] = linesOf((await part(home, found.id, 1)).text);
  assert.deepEqual(Object.keys(row!), ['event', 'distinct_id']);
  assert.deepEqual(await state(), before);
});

test('rows that were erased are in no part any more', async () => {
  const home = await withEvents();
  const found = await counted(home, {});
  const { id: team_id } = home.project;
  await harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${team_id} AND distinct_id = 'gone'`,
    clickhouse_settings: { mutations_sync: '2' },
  });
  const rows = linesOf((await part(home, found.id, 1)).text);
  assert.deepEqual(
    rows.map(({ distinct_id }) => distinct_id),
    ['u', 'u'],
  );
});

test('a process that dies leaves its download to another one', async () => {
  const home = await withEvents();
  const asked = await home.ask('POST', baseOf(home), march);
  const { id } = asked.body;
  const lease = { settle_seconds: 0, lease_seconds: 60 };
  const claimed = await claimDownload(harness.deps.db, lease);
  assert.equal(claimed?.id, id);
  assert.equal(await count(), 0);
  await harness.deps.db.run(
    sql`UPDATE file_downloads SET claimed_until = now() - interval '1 second' WHERE id = ${id}`,
  );
  assert.equal(await count(), 1);
  const { body } = await home.ask('GET', `${baseOf(home)}${id}/`);
  assert.deepEqual([body.status, body.records], ['Completed', 3]);
});

test('a download waits until its rows are final', async () => {
  const home = await withEvents();
  const { body } = await home.ask('POST', baseOf(home), march);
  await harness.deps.db.run(
    sql`UPDATE file_downloads SET watermark = now() + interval '1 hour' WHERE id = ${body.id}`,
  );
  await count();
  const { body: found } = await home.ask('GET', `${baseOf(home)}${body.id}/`);
  assert.deepEqual([found.status, found.records, found.parts], ['Starting', null, []]);
  assert.equal((await home.ask('GET', `${baseOf(home)}${body.id}/download/1/`)).status, 404);
});

test('wrong bodies are refused at their fields', async () => {
  const home = await withEvents();
  const stranger = await withEvents();
  const { id: theirs } = await newExport(stranger);
  const { id: own } = await newExport(home);
  const later = new Date(harness.deps.clock.now() + 3_600_000).toISOString();
  const cases: [object, string][] = [
    [{ start_at: '2026-02-28T00:00:00Z' }, 'start_at'],
    [{ start_at: march.end_at }, 'end_at'],
    [{ start_at: new Date(Date.parse(later) - 7_200_000).toISOString(), end_at: later }, 'end_at'],
    [{ file_format: 'Parquet', compression: 'gzip2' }, 'compression'],
    [{ file_format: 'CSV', compression: 'lz4' }, 'compression'],
    [{ max_file_size_mb: 0 }, 'max_file_size_mb'],
    [{ model: 'persons', by: 'timestamp' }, 'by'],
    [{ model: 'persons', include_events: ['a'] }, 'include_events'],
    [{ batch_export: theirs }, 'batch_export'],
    [{ batch_export: own, model: 'events' }, 'model'],
    [{ interval: 'day' }, 'interval'],
  ];
  for (const [body, attr] of cases) {
    const answer = await home.ask('POST', baseOf(home), { ...march, ...body });
    assert.deepEqual([answer.status, answer.body.attr], [400, attr], answer.text);
  }
});

test('nobody else sees a download, and a key that only reads fetches no rows', async () => {
  const home = await withEvents();
  const found = await counted(home, {});
  const stranger = await harness.newOrganization();
  for (const path of [`${baseOf(home)}${found.id}/`, `${baseOf(stranger)}${found.id}/`])
    for (const rest of ['', 'download/1/'])
      assert.equal((await stranger.ask('GET', `${path}${rest}`)).status, 404, path);
  assert.equal((await stranger.ask('DELETE', `${baseOf(stranger)}${found.id}/`)).status, 404);
  const key = await harness.newKey(home.user, { scopes: ['batch_export:read'] });
  const ask = (path: string) => harness.request('GET', path, { key });
  assert.equal((await ask(`${baseOf(home)}${found.id}/`)).status, 200);
  assert.equal((await ask(`${baseOf(home)}${found.id}/download/1/`)).status, 403);
});

test('an organization has a bounded number, and each ends by itself', async () => {
  const home = await harness.newOrganization();
  const ids: string[] = [];
  for (let count = 0; count < open_downloads_max; count += 1)
    ids.push((await home.ask('POST', baseOf(home), march)).body.id);
  const refused = await home.ask('POST', baseOf(home), march);
  assert.deepEqual([refused.status, /delete one, or wait/.test(refused.body.detail)], [429, true]);
  assert.ok(Number(refused.headers['retry-after']) > 23 * 3_600);
  assert.equal((await home.ask('DELETE', `${baseOf(home)}${ids[0]}/`)).status, 204);
  assert.equal((await home.ask('POST', baseOf(home), march)).status, 202);
  await harness.deps.db.run(
    sql`UPDATE file_downloads SET expires_at = now() WHERE id = ${ids[1]}::uuid`,
  );
  assert.equal((await home.ask('GET', `${baseOf(home)}${ids[1]}/`)).status, 404);
  await sweepDownloads(harness.deps.db);
  const left = await harness.deps.db.rows(
    sql`SELECT 1 FROM file_downloads WHERE id = ${ids[1]}::uuid`,
  );
  assert.equal(left.length, 0);
  const { body } = await home.ask('GET', `${baseOf(home)}?limit=2`);
  assert.deepEqual([body.count, body.results.length], [open_downloads_max - 1, 2]);
  const log = `/api/organizations/${home.organization.id}/activity/?scope=file_download`;
  const { results } = (await home.ask('GET', log)).body;
  assert.deepEqual(
    new Set(results.map(({ activity }: any) => activity)),
    new Set(['created', 'deleted']),
  );
});
