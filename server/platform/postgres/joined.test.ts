import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Transaction } from './database.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    await opened.deps.db.text('CREATE TABLE joined_rows (name text PRIMARY KEY)');
  },
);

const insert = (name: string) => sql`INSERT INTO joined_rows (name) VALUES (${name})`;
const names = async () =>
  (
    await harness.deps.db.rows<{ name: string }>(sql`SELECT name FROM joined_rows ORDER BY name`)
  ).map(({ name }) => name);
const refused = new Error('refused');
const refuse = (work: (tx: Transaction) => Promise<unknown>) =>
  assert.rejects(
    harness.deps.db.transaction(async (tx) => {
      await work(tx);
      throw refused;
    }),
    refused,
  );

test('joined work commits or rolls back with the transaction, unseen by others', async () => {
  const { db } = harness.deps;
  await refuse((tx) =>
    db.within(tx, async () => {
      await db.run(insert('a'));
      await db.transaction(async (inner) => inner.run(insert('b')));
      assert.deepEqual(await names(), ['a', 'b']);
    }),
  );
  assert.deepEqual(await names(), []);
  await db.transaction(async (tx) => {
    const seen = db.within(tx, async () => {
      await db.run(insert('c'));
      return names();
    });
    assert.deepEqual(await seen, ['c']);
    assert.deepEqual(await names(), []);
  });
  assert.deepEqual(await names(), ['c']);
  await db.run(sql`DELETE FROM joined_rows`);
});

test('a refused part takes back itself alone, whatever is around it', async () => {
  const { db } = harness.deps;
  await db.transaction((tx) =>
    db.within(tx, async () => {
      await db.run(insert('kept'));
      await refuse(async () => {
        await db.run(insert('outer'));
        await refuse((inner) => inner.run(insert('inner')));
        await refuse((inner) => inner.text('SELECT 1 / 0').catch(() => undefined));
        assert.deepEqual(await names(), ['kept', 'outer']);
      });
      assert.deepEqual(await names(), ['kept']);
    }),
  );
  assert.deepEqual(await names(), ['kept']);
  await db.run(sql`DELETE FROM joined_rows`);
});

test('parts one after the other are kept, but for those that are refused', async () => {
  const { db } = harness.deps;
  const part = (...these: string[]) =>
    db.transaction(async (inner) => {
      for (const name of these) await inner.run(insert(name));
    });
  await db.transaction((tx) =>
    db.within(tx, async () => {
      await part('a');
      await db.transaction(async () => {
        await part('b');
        await part('c');
        await refuse(() => part('not'));
      });
      await refuse(async () => {
        await part('neither');
        await part('nor');
      });
      await part('d');
      await refuse((inner) => inner.text('SELECT 1 / 0').catch(() => undefined));
      await part('e');
    }),
  );
  assert.deepEqual(await names(), ['a', 'b', 'c', 'd', 'e']);
  await db.run(sql`DELETE FROM joined_rows`);
});

test('work after the join has ended is on its own', async () => {
  const { db } = harness.deps;
  let later: Promise<unknown> | undefined;
  const gate = Promise.withResolvers<void>();
  await refuse((tx) =>
    db.within(tx, async () => {
      later = gate.promise.then(() => db.run(insert('later')));
    }),
  );
  gate.resolve();
  await later;
  assert.deepEqual(await names(), ['later']);
});

test('work kept to the end commits with the rest, and its fault rolls all back', async () => {
  const { db } = harness.deps;
  await db.run(sql`DELETE FROM joined_rows`);
  await db.transaction(async (tx) => {
    tx.lastly(insert('kept'));
    // Whatever is asked for later comes after it.
    assert.equal(await tx.run(sql`UPDATE joined_rows SET name = 'changed'`), 1);
    tx.lastly(insert('last'));
  });
  assert.deepEqual(await names(), ['changed', 'last']);
  const twice = db.transaction(async (tx) => {
    await Promise.all([tx.run(insert('one')), tx.run(insert('two'))]);
    tx.lastly(insert('last'));
  });
  await assert.rejects(twice, { code: '23505' });
  const together = db.transaction((tx) =>
    Promise.all([tx.text('SELECT 1'), tx.run(insert('last')), tx.run(insert('three'))]),
  );
  await assert.rejects(together, { code: '23505' });
  assert.deepEqual(await names(), ['changed', 'last']);
});
