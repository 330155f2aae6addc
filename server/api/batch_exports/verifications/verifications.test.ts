// Length: the life of a verification, from its request to the repair of what it found.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { workVerifications } from '../../../engine/exports/verification/work.ts';
import type { Verification, VerificationFinding } from './schema.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);
const never = new AbortController().signal;

type Exported = Awaited<ReturnType<typeof exported>>;

/** An hourly export of three hours with four events each, delivered. */
async function exported(destination: Record<string, unknown>, more: object = {}) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(
    home,
    Array.from({ length: 12 }, (_, n) => ({
      event: `event ${n}`,
      at: `2026-01-01T0${Math.floor(n / 4)}:1${n % 4}:00Z`,
      properties: { n },
    })),
  );
  const made = await exporting.scheduled(home, { name: 'proven', destination, ...more });
  await exporting.runAll(made.id);
  return { home, ...made };
}

const toFiles = () => {
  const prefix = `proof-${randomUUID()}`;
  return { prefix, destination: { type: 'File', config: { prefix } } };
};

async function toTable() {
  const config = await postgres.freshConfig();
  return { table: `${config.schema}.events`, destination: { type: 'Postgres', config } };
}

/** Asks for a verification, lets it be worked on, and gives it with what it found. */
async function verified(
  { get, send }: Pick<Exported, 'get' | 'send'>,
  range: Record<string, string> = {},
): Promise<{ body: Verification; findings: VerificationFinding[] }> {
  const created = await send('POST', 'verifications/', range);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  await workVerifications(exporting.harness.deps.engine, never);
  const { body } = await get(`verifications/${created.body.id}/`);
  const { body: page } = await get(`verifications/${created.body.id}/findings/`);
  return { body, findings: page.results };
}

const kindsOf = (findings: VerificationFinding[]) => findings.map(({ kind }) => kind).toSorted();

async function verifiedThrough({ home, id }: Exported): Promise<string | null> {
  const { body } = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/overview/?batch_export=${id}`,
  );
  return body.results[0].verified_through;
}

test('untouched deliveries are as delivered, and the export is verified through', async () => {
  for (const destination of [toFiles().destination, (await toTable()).destination]) {
    const one = await exported(destination);
    assert.equal(await verifiedThrough(one), null);
    const { body, findings } = await verified(one);
    assert.deepEqual(findings, []);
    assert.equal(body.status, 'Completed');
    assert.equal(body.detail, 'Everything is as delivered: 3 deliveries with 12 rows.');
    assert.deepEqual(
      [body.progress.deliveries, body.progress.deliveries_checked, body.progress.records_checked],
      [3, 3, 12],
    );
    assert.equal(body.verified_through, '2026-01-01T03:00:00.000000Z');
    assert.equal(await verifiedThrough(one), '2026-01-01T03:00:00.000000Z');
  }
});

test('every planted change of a table is found, and nothing else', async () => {
  const { table, destination } = await toTable();
  const one = await exported(destination);
  const run = (text: string) => postgres.pool.query(text);
  await run(`DELETE FROM ${table} WHERE event = 'event 1'`);
  await run(`UPDATE ${table} SET properties = '{"n": 99}' WHERE event = 'event 5'`);
  await run(`INSERT INTO ${table} SELECT * FROM ${table} WHERE event = 'event 6'`);
  await run(
    `INSERT INTO ${table} (uuid, event, properties, distinct_id, team_id, timestamp)
      VALUES (gen_random_uuid(), 'foreign', '{}', 'd', 1, now())`,
  );
  const { body, findings } = await verified(one);
  assert.deepEqual(kindsOf(findings), ['changed', 'doubled', 'foreign', 'missing']);
  const of = (kind: string) => findings.find((finding) => finding.kind === kind)!;
  assert.equal(of('missing').detail, 'The row is gone.');
  assert.deepEqual(
    [of('changed').column, of('changed').expected, of('changed').found],
    ['properties', '{"n":5}', '{"n":99}'],
  );
  assert.equal(of('missing').delivery?.data_interval_start, '2026-01-01T00:00:00.000000Z');
  assert.equal(of('changed').delivery?.data_interval_start, '2026-01-01T01:00:00.000000Z');
  assert.equal(of('doubled').delivery?.data_interval_start, '2026-01-01T01:00:00.000000Z');
  assert.deepEqual([of('foreign').delivery, of('foreign').repair], [null, null]);
  assert.equal(of('missing').repair?.action, 'rewrite');
  assert.equal(body.differences, 4);
  // The first interval of the schedule lacks a row.
  assert.equal(body.verified_through, null);
});

test('every planted change of files is found, and a rewrite repairs them', async () => {
  const { prefix, destination } = toFiles();
  const one = await exported(destination);
  const folder = join(exporting.folder, prefix);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  assert.equal(names.length, 3);
  const [first, second, third] = names.map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const receipt = (await readdir(join(folder, '_sluice'))).toSorted()[0]!;
  const before = await Promise.all([first, second, third].map((path) => readFile(path, 'utf8')));
  await rm(join(folder, '_sluice', receipt));
  const bytes = await readFile(second);
  bytes[bytes.length - 3]! ^= 1;
  await writeFile(second, bytes);
  await rm(third);
  await writeFile(join(folder, 'stranger.jsonl'), '{}\n');
  const { body, findings } = await verified(one);
  const kinds = new Set(kindsOf(findings));
  assert.deepEqual([...kinds], ['changed', 'foreign', 'missing', 'receipt']);
  // Everything before the first doubt is as delivered; the first delivery has lost its receipt.
  assert.equal(body.verified_through, null);
  const deliveries = new Set(findings.flatMap(({ delivery }) => delivery?.id ?? []));
  assert.equal(deliveries.size, 3);
  for (const delivery of deliveries) {
    const repair = await one.send('POST', `verifications/${body.id}/repair/`, { delivery });
    assert.equal(repair.status, 201, JSON.stringify(repair.body));
    assert.equal(repair.body.action, 'rewrite');
    const again = await one.send('POST', `verifications/${body.id}/repair/`, { delivery });
    assert.equal(again.status, 409);
  }
  const started = await one.get(`verifications/${body.id}/findings/?kind=missing`);
  assert.notEqual(started.body.results[0].repair.run, null);
  const runs = await exporting.runAll(one.id);
  assert.deepEqual([...new Set(runs.map(({ status }) => status))], ['Completed']);
  await rm(join(folder, 'stranger.jsonl'));
  const after = await verified(one);
  assert.deepEqual(after.findings, []);
  assert.equal(after.body.verified_through, '2026-01-01T03:00:00.000000Z');
  assert.deepEqual(
    await Promise.all([first, second, third].map((path) => readFile(path, 'utf8'))),
    before,
  );
});

test('a verification of a place that keeps no rows says that nothing was compared', async () => {
  const one = await exported({ type: 'NoOp', config: {} });
  const { body, findings } = await verified(one);
  assert.deepEqual([findings, body.is_unproven, body.verified_through], [[], true, null]);
  assert.deepEqual(body.notes, ['This destination keeps no rows, so there is nothing to verify.']);
  assert.equal(await verifiedThrough(one), null);
});

test('a verification in progress says that it reads, and how far it is', async () => {
  const one = await exported(toFiles().destination);
  const created = await one.send('POST', 'verifications/', {});
  assert.equal(created.body.detail, 'Waiting for a worker.');
  await exporting.harness.deps.db.run(sql`UPDATE batch_export_verifications SET status = 'Running',
    started_at = now(), records_in_part = 7 WHERE id = ${created.body.id}`);
  const { body } = await one.get(`verifications/${created.body.id}/`);
  assert.equal(body.detail, 'Reading the destination. 7 rows compared so far.');
});

test('a delivery to a merged table leaves the ledger and is delivered again', async () => {
  const { table, destination } = await toTable();
  const one = await exported(destination, {
    mode: 'merge',
    primary_key: ['uuid'],
    version_key: ['inserted_at'],
  });
  await postgres.pool.query(`DELETE FROM ${table} WHERE timestamp >= '2026-01-01T02:00:00Z'`);
  const { body, findings } = await verified(one);
  assert.deepEqual(
    kindsOf(findings),
    Array.from({ length: 4 }, () => 'missing'),
  );
  assert.equal(body.verified_through, '2026-01-01T02:00:00.000000Z');
  const delivery = findings[0]!.delivery!.id;
  const repair = await one.send('POST', `verifications/${body.id}/repair/`, { delivery });
  assert.equal(repair.body.action, 'deliver_again');
  await exporting.advance(one.id, repair.body.backfill);
  const after = await verified(one);
  assert.deepEqual(after.findings, []);
  const { rows } = await postgres.pool.query(`SELECT count(*)::int AS count FROM ${table}`);
  assert.equal(rows[0].count, 12);
  // The receipt of the earlier delivery is still there, and is none of another export.
  assert.deepEqual([after.body.is_unproven, after.body.notes], [false, []]);
  await postgres.pool.query(
    `UPDATE ${table} SET event = 'x' WHERE timestamp >= '2026-01-01T02:00Z'`,
  );
  const changed = new Set(kindsOf((await verified(one)).findings));
  assert.deepEqual([...changed], ['changed']);
});

test('what a delivery in progress shows already is no finding', async () => {
  const { table, destination } = await toTable();
  const one = await exported(destination);
  const { deps } = exporting.harness;
  await exporting.insert(one.home, [{ event: 'coming', at: '2026-01-01T03:30:00Z' }]);
  await exporting.extend(one.id, 4);
  const [run] = await exporting.plan(one.id);
  const [coming] = await deps.clickhouse.rows<{ uuid: string }>({
    query: `SELECT uuid FROM events WHERE team_id = ${one.home.project.id} AND event = 'coming'`,
  });
  // Its commit has shown the row, and the run is not yet recorded as completed.
  await postgres.pool.query(
    `INSERT INTO ${table} (uuid, event, properties, distinct_id, team_id, timestamp)
      VALUES ('${coming!.uuid}', 'coming', '{}', 'd', 1, '2026-01-01T03:30:00Z')`,
  );
  assert.deepEqual((await verified(one)).findings, []);
  await deps.db.run(sql`UPDATE batch_export_runs SET status = 'Cancelled', finished_at = now()
    WHERE id = ${run!.id}`);
  await deps.db.run(
    sql`UPDATE batch_export_runs SET created_at = '2026-01-01' WHERE id = ${run!.id}`,
  );
  assert.deepEqual(kindsOf((await verified(one)).findings), ['foreign']);
});

test('differences wait while an erasure changes the rows of the project', async () => {
  const { prefix, destination } = toFiles();
  const one = await exported(destination);
  const folder = join(exporting.folder, prefix);
  const [name] = (await readdir(folder)).filter((file) => file.endsWith('.jsonl'));
  await rm(join(folder, name!));
  const { db } = exporting.harness.deps;
  const erasure = randomUUID();
  await db.run(sql`INSERT INTO erasures (id, organization_id, team_id, kind, late_events, asked,
      due_at) VALUES (${erasure}, ${one.home.organization.id}, ${one.home.project.id}, 'persons',
      'refuse', '{}', 'infinity')`);
  const { body, findings } = await verified(one);
  assert.deepEqual([body.status, findings], ['Running', []]);
  assert.match(body.detail, /compares these deliveries again when it is over\.$/);
  await db.run(sql`UPDATE erasures SET finished_at = now() - interval '1 hour', status = 'Completed'
    WHERE id = ${erasure}`);
  await db.run(sql`UPDATE batch_export_verifications SET due_at = now() WHERE id = ${body.id}`);
  await workVerifications(exporting.harness.deps.engine, never);
  const { body: found } = await one.get(`verifications/${body.id}/findings/`);
  assert.deepEqual(kindsOf(found.results), ['missing']);
});

test('a range looks at its deliveries only, and carries on what was verified before', async () => {
  const { prefix, destination } = toFiles();
  const one = await exported(destination);
  const folder = join(exporting.folder, prefix);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  await rm(join(folder, names[2]!));
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T02:00:00Z' };
  const early = await verified(one, range);
  assert.equal(early.body.progress.deliveries, 2);
  assert.deepEqual(early.findings, []);
  assert.equal(early.body.verified_through, '2026-01-01T02:00:00.000000Z');
  const late = await verified(one, { start_at: '2026-01-01T02:00:00Z' });
  assert.deepEqual(kindsOf(late.findings), ['missing']);
  assert.equal(await verifiedThrough(one), '2026-01-01T02:00:00.000000Z');
});

test('one verification at a time, which can be cancelled', async () => {
  const one = await exported(toFiles().destination);
  const { body } = await one.send('POST', 'verifications/', {});
  assert.equal((await one.send('POST', 'verifications/', {})).status, 409);
  assert.equal(body.detail, 'Waiting for a worker.');
  const cancelled = await one.send('POST', `verifications/${body.id}/cancel/`);
  assert.equal(cancelled.body.status, 'Cancelled');
  assert.equal((await one.send('POST', `verifications/${body.id}/cancel/`)).status, 409);
  await workVerifications(exporting.harness.deps.engine, never);
  assert.equal((await one.get(`verifications/${body.id}/`)).body.status, 'Cancelled');
  assert.equal((await one.get('verifications/')).body.count, 1);
  const backwards = { start_at: '2026-01-02T00:00:00Z', end_at: '2026-01-01T00:00:00Z' };
  assert.equal((await one.send('POST', 'verifications/', backwards)).body.attr, 'end_at');
});

test('a destination that does not answer is tried again, and the reason shown', async () => {
  const { destination } = await toTable();
  const one = await exported(destination);
  const { deps } = exporting.harness;
  await deps.db.run(sql`UPDATE batch_exports SET destination_config =
    destination_config || '{"port": 1}'::jsonb WHERE id = ${one.id}`);
  const { body: waiting } = await verified(one);
  assert.equal(waiting.status, 'Running');
  assert.match(waiting.detail, /The server does not answer.*Next try at /);
  await deps.db.run(sql`UPDATE batch_export_verifications SET tries = 4, due_at = '2026-01-01'
    WHERE id = ${waiting.id}`);
  await workVerifications(deps.engine, never);
  const { body } = await one.get(`verifications/${waiting.id}/`);
  assert.equal(body.status, 'Failed');
  assert.equal(body.verified_through, null);
});

test('two workers never record the same part, and a killed one is followed', async () => {
  const one = await exported(toFiles().destination);
  const { deps } = exporting.harness;
  const { body } = await one.send('POST', 'verifications/', {});
  await Promise.all([workVerifications(deps.engine, never), workVerifications(deps.engine, never)]);
  const { body: both } = await one.get(`verifications/${body.id}/`);
  assert.deepEqual([both.status, both.progress.deliveries_checked], ['Completed', 3]);
  const { body: next } = await one.send('POST', 'verifications/', {});
  // A worker that was killed in the middle of a part holds it, and has said nothing for a minute.
  const hold = (at: string) =>
    deps.db.run(sql`UPDATE batch_export_verifications SET claim_id = ${randomUUID()},
      claimed_at = now() - ${at}::interval, status = 'Running', records_in_part = 7
      WHERE id = ${next.id}`);
  await hold('1 second');
  assert.equal(await workVerifications(deps.engine, never), 0);
  await hold('1 minute');
  await workVerifications(deps.engine, never);
  const { body: followed } = await one.get(`verifications/${next.id}/`);
  assert.deepEqual(
    [followed.status, followed.progress.records_checked, followed.progress.deliveries_checked],
    ['Completed', 12, 3],
  );
});

test('strangers get 404, readers may look and not start', async () => {
  const one = await exported(toFiles().destination);
  const { body } = await one.send('POST', 'verifications/', {});
  const { harness } = exporting;
  const stranger = await harness.newOrganization();
  const reader = await harness.newMember(one.home.organization.id, 1, ['batch_export:read']);
  const url = `/api/projects/${one.home.project.id}/batch_exports/${one.id}/`;
  const own = `/api/projects/${stranger.project.id}/batch_exports/${one.id}/`;
  const reads = [
    'verifications/',
    `verifications/${body.id}/`,
    `verifications/${body.id}/findings/`,
    'proof/',
    'receipts/',
  ];
  const writes = [
    'verifications/',
    `verifications/${body.id}/cancel/`,
    `verifications/${body.id}/repair/`,
  ];
  for (const path of reads) {
    assert.equal((await stranger.ask('GET', `${url}${path}`)).status, 404, path);
    assert.equal((await stranger.ask('GET', `${own}${path}`)).status, 404, path);
    assert.equal((await reader.ask('GET', `${url}${path}`)).status, 200, path);
  }
  for (const path of writes) {
    assert.equal((await stranger.ask('POST', `${own}${path}`, {})).status, 404, path);
    assert.equal((await reader.ask('POST', `${url}${path}`, {})).status, 403, path);
  }
});
