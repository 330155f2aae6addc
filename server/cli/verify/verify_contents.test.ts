import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { is_deep } from '../../../test/depth.ts';
import { changedFile } from '../../../test/factories/batch_exports/changed_files.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import type { Finding } from '../../engine/exports/verification/verify_exports.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

type Home = Awaited<ReturnType<QueryHarness['harness']['newOrganization']>>;

/**
 * A home with as many events in each hour, of which every seventh has a number
 * that a double rounds, exported hour by hour to a table of its own. The first event of each hour
 * is a plain one.
 */
async function exported(...hours: number[]): Promise<{ home: Home; id: string; table: string }> {
  const home = await exporting.harness.newOrganization();
  const minute = (n: number) => String(10 + (n % 40)).padStart(2, '0');
  await exporting.insert(
    home,
    hours.flatMap((events, hour) =>
      Array.from({ length: events }, (_, n) => ({
        event: n === 0 ? 'plain' : `event ${n}`,
        at: `2026-01-01T0${hour}:${minute(n)}:00.${String(n).padStart(6, '0')}Z`,
        properties:
          n === 0 ? { a: 1 } : { n, 'ü "': [n / 7, { deep: null }], big: n % 7 ? n : 2 ** 60 },
      })),
    ),
  );
  const config = await postgres.freshConfig();
  const { id } = await exporting.scheduled(
    home,
    { name: 'table', destination: { type: 'Postgres', config } },
    hours.length,
  );
  await exporting.runAll(id);
  return { home, id, table: `${config.schema}.events` };
}

async function found(id: string): Promise<Finding> {
  const [finding] = await verifyExports(exporting.harness.deps.engine, id);
  assert.equal(finding?.fault, null);
  return finding;
}

/** The source without this project's events, as after a restore from an older backup. */
async function forget(home: Home): Promise<void> {
  await exporting.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${home.project.id}
      SETTINGS mutations_sync = 2`,
  });
}

test('a changed value is named while the source has the row, later its slice', async () => {
  // More than 1,000 rows have their digest from the store, fewer from the bytes that pass.
  const hours = [1_010, 20] as const;
  const { home, id, table } = await exported(...hours);
  assert.deepEqual((await found(id)).differences, []);
  await postgres.pool.query(
    `UPDATE ${table} SET properties = '{"a": 2}', event = NULL WHERE event = 'plain'`,
  );
  const told = ({ differences }: Finding) =>
    differences
      .map(({ kind, name, detail }) =>
        [kind, name.replace(/(uuid=|delivery )[0-9a-f-]{36}/, '$1...'), detail].join(' '),
      )
      .toSorted();
  const here = await found(id);
  assert.deepEqual(here.notes, []);
  const changed = [
    'The column event was delivered as plain and is null.',
    'The column properties was delivered as {"a":1} and is {"a":2}.',
  ].flatMap((detail) => hours.map(() => `changed ${table} uuid=... ${detail}`));
  assert.deepEqual(told(here), changed);
  await forget(home);
  const gone = await found(id);
  assert.match(gone.notes.join(), /no longer has all rows of 2 deliveries .* digests/);
  assert.deepEqual(
    told(gone),
    hours.map(
      (rows) =>
        `changed ${table} delivery ... slice 1 A value of its ${rows.toLocaleString('en')} ` +
        'rows was changed: the digest is not that of the receipt. The source no longer has ' +
        'them, so the value is unknown.',
    ),
  );
  await postgres.pool.query(
    `UPDATE ${table} SET properties = '{"a": 1}', event = 'plain' WHERE event IS NULL`,
  );
  assert.deepEqual((await found(id)).differences, []);
  await postgres.pool.query(`DELETE FROM ${table} WHERE event = 'event 2'`);
  assert.deepEqual(
    (await found(id)).differences.map(({ kind }) => kind),
    ['missing', 'missing'],
  );
});

test('a receipt without digests is compared as far as it can be, and says so', async () => {
  const { home, id, table } = await exported(3);
  const { db, secrets } = exporting.harness.deps;
  const runs = await db.rows<{ id: string; receipt: string }>(
    sql`SELECT id, receipt FROM batch_export_runs WHERE batch_export_id = ${id}
      AND receipt IS NOT NULL`,
  );
  for (const run of runs) {
    const { signature: _signature, ...receipt } = JSON.parse(run.receipt) as {
      signature: object;
      slices: { rows_digest?: string }[];
    };
    for (const slice of receipt.slices) delete slice.rows_digest;
    const value = secrets.sign(JSON.stringify(receipt));
    const signature = { algorithm: 'Ed25519', public_key: secrets.public_key, value };
    const text = JSON.stringify({ ...receipt, signature });
    await db.run(sql`UPDATE batch_export_runs SET receipt = ${text} WHERE id = ${run.id}`);
    await postgres.pool.query(
      `UPDATE ${table.replace('.events', '.sluice_receipts')} SET manifest = $1
        WHERE manifest = $2`,
      [text, run.receipt],
    );
  }
  assert.deepEqual((await found(id)).differences, []);
  await postgres.pool.query(`UPDATE ${table} SET event = 'plane' WHERE event = 'plain'`);
  assert.equal((await found(id)).differences.length, 1);
  await forget(home);
  const { differences, notes } = await found(id);
  assert.deepEqual(differences, []);
  assert.match(notes.join(), /could not be compared/);
  await postgres.pool.query(`DELETE FROM ${table} WHERE event = 'plane'`);
  assert.deepEqual(
    (await found(id)).differences.map(({ kind }) => kind),
    ['missing'],
  );
});

test('values of a file are named in each format and compression', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [
    { event: 'plain', at: '2026-01-01T00:10:00Z', properties: { a: 1 } },
    { event: 'b\u2028"\n', at: '2026-01-01T00:20:00Z', properties: { a: 1 / 3 } },
  ]);
  const usual = [
    ['JSONLines', 'brotli'],
    ['CSV', 'zstd'],
    ['Parquet', 'gzip'],
    ['Parquet', 'lz4'],
  ] as const;
  const others = [
    ['JSONLines', null],
    ['CSV', 'gzip'],
    ...['zstd', 'snappy', 'brotli', null].map((one) => ['Parquet', one] as const),
  ] as const;
  for (const [file_format, compression] of is_deep ? [...usual, ...others] : usual) {
    const prefix = `${file_format}_${compression}`;
    const config = { prefix, file_format, compression };
    const { id } = await exporting.scheduled(
      home,
      { name: prefix, destination: { type: 'File', config } },
      1,
    );
    await exporting.runAll(id);
    assert.deepEqual((await found(id)).differences, [], prefix);
    const folder = join(exporting.folder, prefix);
    const [name] = (await readdir(folder)).filter((one) => one !== '_sluice');
    const path = join(folder, name!);
    const bytes = await readFile(path);
    // Bytes that are compressed inside a Parquet file cannot be changed by hand, so the test swaps
    // the file for that of another row.
    const isSealed = file_format === 'Parquet' && !['snappy', 'lz4', null].includes(compression);
    await writeFile(
      path,
      isSealed
        ? bytes.subarray(1)
        : changedFile(bytes, { file_format, format: file_format, compression } as never),
    );
    const [first, ...values] = (await found(id)).differences;
    assert.equal(first?.kind, 'changed');
    if (isSealed) assert.match(first.detail, /can no longer be read as Parquet/);
    else
      assert.deepEqual(
        values.map(({ column, expected, found: is }) => [column, expected, is]),
        [
          ['event', 'plain', 'plane'],
          ['properties', '{"a":1}', '{"a":2}'],
        ],
        prefix,
      );
  }
});
