import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openQueryBudget } from './query_budget.ts';

const forever = new AbortController().signal;
/** Lets what was resolved go on. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('no more is out than there is; a project has half at most, or one query', async () => {
  const budget = openQueryBudget(400);
  const began: string[] = [];
  const take = (name: string, team_id: number, bytes: number) =>
    budget.take(team_id, bytes, forever).then((giveBack) => {
      began.push(name);
      return giveBack;
    });
  const first = take('a1', 1, 100);
  void take('a2', 1, 100);
  void take('a3', 1, 100);
  const other = take('b1', 2, 150);
  void take('c1', 3, 100);
  void take('d1', 4, 50);
  await turn();
  // a3 waits for its own project, c1 for memory, and d1 behind it although it would fit.
  assert.deepEqual(began, ['a1', 'a2', 'b1']);
  const giveBack = await first;
  giveBack();
  giveBack();
  await turn();
  assert.deepEqual(began, ['a1', 'a2', 'b1', 'a3']);
  (await other)();
  await turn();
  assert.deepEqual(began, ['a1', 'a2', 'b1', 'a3', 'c1', 'd1']);
});

test('a query as large as the budget, or larger, is alone', async () => {
  const budget = openQueryBudget(400);
  const giveBack = await budget.take(1, 4_000, forever);
  let isServed = false;
  const second = budget.take(2, 1, forever).then(() => (isServed = true));
  await turn();
  assert.equal(isServed, false);
  giveBack();
  await second;
});

test('a query that stops waiting is forgotten, and those behind it continue', async () => {
  const budget = openQueryBudget(400);
  await budget.take(1, 300, forever);
  const leaving = new AbortController();
  const large = budget.take(2, 200, leaving.signal);
  const small = budget.take(3, 100, forever);
  leaving.abort();
  await assert.rejects(large, /stopped/);
  await small;
  await assert.rejects(budget.take(4, 1, leaving.signal), /stopped/);
});

test('any order of requests serves everybody and keeps the sum', async () => {
  const asked = fc.array(
    fc.record({ team_id: fc.integer({ min: 1, max: 4 }), bytes: fc.integer({ min: 1, max: 500 }) }),
    { minLength: 1, maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(asked, async (queries) => {
      const budget = openQueryBudget(400);
      let out = 0;
      await Promise.all(
        queries.map(async ({ team_id, bytes }) => {
          const giveBack = await budget.take(team_id, bytes, forever);
          out += Math.min(bytes, 400);
          assert.ok(out <= 400);
          await turn();
          out -= Math.min(bytes, 400);
          giveBack();
        }),
      );
      assert.equal(out, 0);
    }),
    { numRuns: 100 },
  );
});
