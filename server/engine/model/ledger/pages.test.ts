import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { inDepth } from '../../../../test/depth.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { addDelivered, deliveredOf, removeDelivered, undelivered } from './ledger.ts';
import { page_rectangles_max } from './pages.ts';
import { subtract, unionOf } from './rectangles.ts';
import type { Rectangle } from './rectangles.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

let db: Database;
let home: TestOrganization;
aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    ({ db } = opened.deps);
    home = await opened.newOrganization();
  },
);

const rectangle = (
  [event_from, event_to]: [number, number],
  [inserted_from, inserted_to]: [number, number],
): Rectangle => ({ event_from, event_to, inserted_from, inserted_to });
const always: [number, number] = [-Infinity, Infinity];
const size = 1.5 * page_rectangles_max;
/** An hour in two, and below them pieces of event time up to watermarks that all differ. */
const long = [
  ...Array.from({ length: size }, (_, at) => rectangle(always, [4 * at, 4 * at + 1])),
  ...Array.from({ length: size }, (_, at) =>
    rectangle([4 * at, 4 * at + 1], [-Infinity, -size + at]),
  ),
];

/** The ledger as pages, and how many there are; each rectangle of it lies in one page alone. */
async function pagesOf(id: string): Promise<{ pages: number; is_null: boolean }> {
  const row = await db.row<{ pages: number; is_null: boolean }>(sql`
    SELECT delivered = 'null' AS is_null, (SELECT count(*)::int FROM batch_export_ledger_pages page
      WHERE page.batch_export_id = ledger.batch_export_id) AS pages
    FROM batch_export_ledgers ledger WHERE batch_export_id = ${id}`);
  return row!;
}

const areaOf = (rectangles: Rectangle[]) =>
  rectangles.reduce((sum, side) => {
    const clip = (at: number) => Math.max(-10_000, Math.min(10_000, at));
    return (
      sum +
      (clip(side.event_to) - clip(side.event_from)) *
        (clip(side.inserted_to) - clip(side.inserted_from))
    );
  }, 0);

function assertSameArea(found: Rectangle[], wanted: Rectangle[]): void {
  assert.deepEqual(subtract(unionOf(found), wanted), []);
  assert.deepEqual(subtract(wanted, found), []);
  // As large as its union, so nothing of it occurs twice.
  assert.equal(areaOf(found), areaOf(wanted));
}

test('a long ledger moves to pages, and a run reads and writes those near it alone', async () => {
  const { id } = await newExport(home);
  const ledger = { batch_export_id: id, revision: 1 };
  await db.transaction((tx) => addDelivered(tx, [{ ...ledger, selection: long.slice(0, 10) }]));
  assert.deepEqual(await pagesOf(id), { pages: 0, is_null: false });
  await db.transaction((tx) => addDelivered(tx, [{ ...ledger, selection: long.slice(10) }]));
  const moved = await pagesOf(id);
  assert.ok(
    moved.is_null && moved.pages >= (2 * size) / page_rectangles_max,
    moved.pages.toString(),
  );
  const all = async () => (await deliveredOf(db, [{ id, revision: 1 }])).get(id)!;
  assertSameArea(await all(), long);

  const within = [rectangle(always, [4 * size, 4 * size + 1])];
  const near = (await deliveredOf(db, [{ id, revision: 1, within }])).get(id) ?? [];
  assert.ok(near.length <= page_rectangles_max, `${near.length} rectangles were read`);

  const inside = rectangle(always, [40, 42]);
  const rest = await db.transaction((tx) => undelivered(tx, id, 1, [inside]));
  assert.deepEqual(rest, [rectangle(always, [41, 42])], 'a page reaches further both ways');

  const versions = () =>
    db.rows<{ id: string }>(sql`SELECT id FROM batch_export_ledger_pages
      WHERE batch_export_id = ${id}`);
  const known = new Set((await versions()).map((page) => page.id));
  const last = long[size - 1]!.inserted_to;
  const next = [rectangle(always, [last, last + 3])];
  await db.transaction(async (tx) => {
    const selection = await undelivered(tx, id, 1, next);
    assert.deepEqual(selection, next);
    await addDelivered(tx, [{ ...ledger, selection }]);
  });
  const written = (await versions()).filter((page) => !known.has(page.id));
  assert.ok(written.length <= 2, `${written.length} pages were written`);
  assertSameArea(await all(), unionOf([...long, ...next]));

  const gone = [rectangle(always, [39, 47])];
  await db.transaction((tx) => removeDelivered(tx, { ...ledger, selection: gone }));
  assertSameArea(await all(), subtract(unionOf([...long, ...next]), gone));
});

test('a ledger in pages holds what the same runs leave in one of a piece', async () => {
  const edge = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: -20, max: 4 * size }) },
    { weight: 1, arbitrary: fc.constantFrom(-Infinity, Infinity) },
  );
  const base = fc
    .tuple(edge, edge, edge, edge)
    .map(([a, b, c, d]) =>
      rectangle([Math.min(a, b), Math.max(a, b)], [Math.min(c, d), Math.max(c, d)]),
    );
  await fc.assert(
    fc.asyncProperty(fc.array(base, { minLength: 1, maxLength: 5 }), async (bases) => {
      const { id } = await newExport(home);
      const ledger = { batch_export_id: id, revision: 1 };
      let expected = unionOf(long.filter((_, at) => at % 3 !== 0));
      await db.transaction((tx) => addDelivered(tx, [{ ...ledger, selection: expected }]));
      for (const one of bases) {
        await db.transaction(async (tx) => {
          const selection = await undelivered(tx, id, 1, [one]);
          assertSameArea(selection, subtract([one], expected));
          await addDelivered(tx, [{ ...ledger, selection }]);
        });
        expected = unionOf([...expected, one]);
      }
      assertSameArea((await deliveredOf(db, [{ id, revision: 1 }])).get(id)!, expected);
    }),
    { numRuns: inDepth(2, 5) },
  );
});
