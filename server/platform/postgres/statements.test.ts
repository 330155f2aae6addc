import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { isDatabaseError } from './database.ts';
import type { Transaction } from './database.ts';

const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    await opened.deps.db.text('CREATE TABLE grouped_rows (name text PRIMARY KEY, number bigint)');
  },
);

const insert = (name: string, number = 1) =>
  sql`INSERT INTO grouped_rows (name, number) VALUES (${name}, ${number}) RETURNING *`;
const count = sql`SELECT count(*) AS rows FROM grouped_rows`;
const countRows = async () => (await harness.deps.db.row<{ rows: number }>(count))!.rows;

test('statements of one turn run in order, and see what the earlier ones changed', async () => {
  const { db } = harness.deps;
  // The second time, PostgreSQL does not describe the rows.
  for (const round of [1, 2]) {
    const found = await db.transaction((tx) =>
      Promise.all([
        tx.row(insert(`a${round}`)),
        tx.row(count),
        tx.run(sql`UPDATE grouped_rows SET number = 7 WHERE name = ${`a${round}`}`),
        tx.text('SELECT number FROM grouped_rows ORDER BY name DESC LIMIT 1'),
        tx.rows(sql`SELECT name, number FROM grouped_rows WHERE number > 8`),
        tx.row(sql`DELETE FROM grouped_rows WHERE name = ${`a${round}`} RETURNING name, number`),
      ]),
    );
    const [inserted, counted, updated, { rows }, none, deleted] = found;
    assert.deepEqual(inserted, { name: `a${round}`, number: 1 });
    assert.deepEqual([counted, updated, rows, none], [{ rows: 1 }, 1, [{ number: 7 }], []]);
    assert.deepEqual(deleted, { name: `a${round}`, number: 7 });
  }
});

test('a fault fails the statements behind it, and nothing is kept', async () => {
  const { db } = harness.deps;
  const fails: ((tx: Transaction) => Promise<unknown>)[] = [
    (tx) => tx.row(sql`SELECT 1 / ${0}::integer`),
    (tx) => tx.row(sql`SELECT nothing FROM grouped_rows`),
    (tx) => tx.text('SELECT 1 / 0'),
  ];
  for (const fail of fails) {
    const outcomes: string[] = [];
    const note = (name: string, asked: Promise<unknown>) =>
      asked.then(
        () => outcomes.push(`${name} done`),
        () => outcomes.push(`${name} failed`),
      );
    await assert.rejects(
      db.transaction(async (tx) => {
        const failing = [
          note('before', tx.row(insert('before'))),
          note('fault', fail(tx)),
          note('behind', tx.row(insert('behind'))),
          note('count', tx.row(count)),
        ];
        await Promise.all(failing);
        await tx.row(insert('later'));
      }),
    );
    assert.deepEqual(outcomes.toSorted().slice(1), [
      'behind failed',
      'count failed',
      'fault failed',
    ]);
    assert.equal(await countRows(), 0, String(fail));
  }
});

test('a value that cannot be sent fails its statement alone', async () => {
  const { db } = harness.deps;
  const values = [sql`${{ number: 1n }}::jsonb`, sql`${[{ number: 1n }]}::jsonb[]`];
  for (const value of values)
    await db.transaction(async (tx) => {
      const [inserted, unsent, counted] = await Promise.allSettled([
        tx.row(insert('one')),
        tx.row(sql`SELECT ${value}`),
        tx.row(count),
      ]);
      assert.deepEqual([inserted.status, unsent.status], ['fulfilled', 'rejected']);
      assert.deepEqual(counted, { status: 'fulfilled', value: { rows: 1 } });
      await tx.run(sql`DELETE FROM grouped_rows`);
    });
});

test('a statement after the end of its transaction is an error, and changes nothing', async () => {
  const { db } = harness.deps;
  const ended = Promise.withResolvers<void>();
  let late: Promise<unknown> | undefined;
  await assert.rejects(
    db.transaction((tx) => {
      late = ended.promise.then(() => tx.row(insert('late')));
      return Promise.all([late, tx.row(sql`SELECT 1 / ${0}::integer`)]);
    }),
    (fault) => isDatabaseError(fault) && fault.code === '22012',
  );
  ended.resolve();
  await assert.rejects(late!, /after the end of its transaction/);
  assert.equal(await countRows(), 0);
});

test('a deferred fault stops the COMMIT behind it, and is the fault of the whole', async () => {
  const { db } = harness.deps;
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.row(insert('kept'));
      tx.lastly(sql`SELECT 1 / (count(*) - 1) FROM grouped_rows`);
      tx.lastly(insert('behind'));
    }),
    (fault) => isDatabaseError(fault) && fault.code === '22012',
  );
  assert.equal(await countRows(), 0);
});

test('a session that ends fails its group, and others continue', async () => {
  const { db } = harness.deps;
  await assert.rejects(
    db.transaction((tx) =>
      Promise.all([
        tx.row(insert('lost')),
        tx.row(sql`SELECT pg_terminate_backend(pg_backend_pid())`),
        tx.row(insert('behind')),
      ]),
    ),
  );
  assert.equal(await countRows(), 0);
});
