import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import pg from 'pg';
import { parse } from 'yaml';
import { aroundTests } from '../../../test/around_tests.ts';
import { commandOn, openEmptyStores } from '../../../test/factories/backups.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openDeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { eventually } from '../../../test/eventually.ts';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';
import { UserError } from '../user_error.ts';
import { leaveTo } from './leave.ts';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const delivering = aroundTests(openDeliveringHarness);
const forever = new AbortController().signal;
const secret = 'secret-of-an-export-0123';

type Listed = { path: string; rows: number | null; bytes: number; sha256: string };
type Manifest = { until: string; files: Listed[] };

const manifestOf = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
const linesOf = async (path: string) =>
  (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');

/** An organization with events, persons, groups, a run with its receipt, and a secret. */
async function newHome() {
  const { harness } = delivering;
  const home = await harness.newOrganization();
  const events = Array.from({ length: 500 }, (_, number) => ({
    event: number % 2 === 0 ? '$pageview' : 'order "paid"\u0001',
    distinct_id: `person ${number % 40}`,
    properties: { number, text: `line\n${number}`, $session_id: crypto.randomUUID() },
    ...(number % 5 === 0 ? { $set: { plan: 'pro' } } : {}),
  }));
  const group = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 3 } };
  const all = [...events, { event: '$groupidentify', distinct_id: 'person 1', properties: group }];
  const path = `/api/projects/${home.project.id}/events/`;
  const sent = await home.ask('POST', path, { events: all });
  assert.equal(sent.status, 200, sent.text);
  const base = projectBase(home);
  const config = {
    bucket_name: 'left-1',
    region: 'eu-west-1',
    prefix: 'p',
    aws_access_key_id: 'AKIAX',
  };
  const s3 = { type: 'S3', config: { ...config, aws_secret_access_key: secret } };
  await newExport(home, { name: 'To S3', destination: s3 });
  await delivering.startOnce();
  const { id } = await newExport(home, {
    name: 'Files',
    destination: { type: 'File', config: { prefix: 'left' } },
  });
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T01:00:00Z' };
  await home.ask('POST', `${base}${id}/backfill/`, range);
  await eventually('the backfill has not ended', async () => {
    const { body } = await home.ask('GET', `${base}${id}/runs/`);
    return body.results.some(({ status }: { status: string }) => status === 'Completed');
  });
  return { home };
}

test('everything is left as open files, and an empty PostgreSQL counts the same', async () => {
  const { home } = await newHome();
  const folder = join(delivering.folder, 'left');
  const context = commandOn(delivering.stores, delivering.folder);
  await eventually('the events are not below the instant', async () => {
    await rm(folder, { recursive: true, force: true });
    await leaveTo(context, { to: folder, organization: [home.organization.id] }, forever);
    const { files } = await manifestOf(folder);
    return files.some(({ path, rows }) => path.includes('/events/') && rows === 501);
  });
  const { files } = await manifestOf(folder);
  for (const { path, bytes, sha256 } of files) {
    const content = await readFile(join(folder, path));
    assert.equal(content.length, bytes);
    assert.equal(createHash('sha256').update(content).digest('hex'), sha256, path);
    assert.ok(!content.includes(secret), `${path} has a secret`);
  }
  const [slug] = await readdir(folder).then((names) => names.filter((name) => !name.includes('.')));
  const configuration = parse(await readFile(join(folder, slug!, 'configuration.yaml'), 'utf8'));
  const [project] = Object.values<any>(configuration.projects);
  assert.deepEqual(project.batch_exports.to_s3.destination.config.aws_secret_access_key, {
    env: `${Object.keys(configuration.projects)[0]!.toUpperCase()}_TO_S3_AWS_SECRET_ACCESS_KEY`,
  });
  const of = join(folder, slug!, `project_${home.project.id}`);
  const [receipt] = (await linesOf(join(of, 'receipts.jsonl'))).map((line) => JSON.parse(line));
  const [run] = (await linesOf(join(of, 'runs.jsonl'))).map((line) => JSON.parse(line));
  assert.ok(JSON.parse(receipt.receipt).signature.value);
  assert.ok(!('destination_secrets' in run) && 'selection' in run);
  assert.match((await linesOf(join(folder, slug!, 'activity.jsonl')))[0]!, /"hash":"[0-9a-f]{64}"/);
  await loadAndCompare(folder, of, files);
});

/** Loads every file into an empty PostgreSQL, and compares what it counts. */
async function loadAndCompare(folder: string, of: string, files: Listed[]): Promise<void> {
  const empty = await openEmptyStores(delivering.stores, `left_${randomBytes(5).toString('hex')}`);
  const client = new pg.Client({ connectionString: empty.database_url });
  try {
    await client.connect();
    const rows_of: Record<string, number> = {};
    for (const { path, rows } of files.filter((one) => one.rows !== null)) {
      const [, , kind = '', name = ''] = path.split('/');
      const table = (name === '' ? path.split('/').at(-1)! : kind).replace('.jsonl', '');
      const objects = path.endsWith('.parquet')
        ? await parquetReadObjects({
            file: await asyncBufferFromFile(join(folder, path)),
            compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
          })
        : (await linesOf(join(folder, path))).map((line): unknown => JSON.parse(line));
      await client.query(`CREATE TABLE IF NOT EXISTS ${table} (row jsonb NOT NULL)`);
      const texts = objects.map((row) => JSON.stringify(row, bigintsAsText));
      await client.query(
        `INSERT INTO ${table} SELECT replace(text, '\\u0000', '')::jsonb
         FROM unnest($1::text[]) text`,
        [texts],
      );
      rows_of[table] = (rows_of[table] ?? 0) + rows!;
    }
    for (const [table, wanted] of Object.entries(rows_of)) {
      const { rows } = await client.query(`SELECT count(*)::int AS count FROM ${table}`);
      assert.equal(rows[0].count, wanted, table);
    }
    const { rows } = await client.query(`SELECT count(DISTINCT row->>'uuid')::int AS events,
      count(DISTINCT row->>'person_id')::int AS persons,
      sum(((row->>'properties')::jsonb->>'number')::int)::int AS sum FROM events`);
    assert.deepEqual(rows, [{ events: 501, persons: 40, sum: (499 * 500) / 2 }]);
    // Every fifth event sets a property, which makes a person.
    assert.deepEqual([rows_of['persons'], rows_of['person_distinct_ids']], [8, 8]);
    assert.ok(rows_of['sessions']! > 0 && rows_of['groups'] === 1, of);
  } finally {
    await client.end();
    await empty.close();
  }
}

const bigintsAsText = (_: string, value: unknown) =>
  typeof value === 'bigint' ? String(value) : value;

test('secrets come only when asked for; a complete folder is not filled again', async () => {
  const { home } = await newHome();
  const folder = join(delivering.folder, 'with_secrets');
  const context = commandOn(delivering.stores, delivering.folder);
  const flags = { to: folder, organization: [home.organization.id], withSecrets: true };
  await leaveTo(context, flags, forever);
  const { files } = await manifestOf(folder);
  const { path } = files.find((one) => one.path.endsWith('secrets.env'))!;
  assert.match(await readFile(join(folder, path), 'utf8'), new RegExp(`='${secret}'`));
  assert.equal((await stat(join(folder, path))).mode & 0o777, 0o600);
  await assert.rejects(leaveTo(context, flags, forever), /is already complete/);
  const foreign = { ...flags, to: delivering.folder };
  await assert.rejects(leaveTo(context, foreign, forever), /has other files/);
  await assert.rejects(
    leaveTo(context, { to: join(folder, 'x'), organization: ['nobody'] }, forever),
    UserError,
  );
});

test('a killed command continues: no complete file is written twice', async () => {
  await newHome();
  const folder = join(delivering.folder, 'killed');
  const { environment } = commandOn(delivering.stores, delivering.folder);
  const killed = spawn(process.execPath, [main, 'leave', '--to', folder], {
    env: { ...leastEnvironment(), ...environment },
    stdio: 'ignore',
  });
  const notes = join(folder, '.leaving.jsonl');
  await eventually(
    'no file is complete',
    async () => existsSync(notes) && (await readFile(notes, 'utf8')).split('"file"').length > 4,
  );
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  assert.ok(!existsSync(join(folder, 'manifest.json')), 'the kill came too late');
  const kept = (await linesOf(notes)).flatMap((line) => {
    const note = JSON.parse(line) as { file?: Listed };
    return note.file === undefined ? [] : [note.file];
  });
  const before = await Promise.all(kept.map(({ path }) => stat(join(folder, path))));
  const context = commandOn(delivering.stores, delivering.folder);
  await leaveTo(context, { to: folder }, forever);
  const after = await Promise.all(kept.map(({ path }) => stat(join(folder, path))));
  assert.deepEqual(
    after.map(({ ino, mtimeMs }) => [ino, mtimeMs]),
    before.map(({ ino, mtimeMs }) => [ino, mtimeMs]),
  );
  const { files } = await manifestOf(folder);
  for (const { path, bytes } of files) assert.equal((await stat(join(folder, path))).size, bytes);
  const left = await readdir(folder, { recursive: true });
  assert.deepEqual(
    left.filter((name) => name.endsWith('.part')),
    [],
  );
});
