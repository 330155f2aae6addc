import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import { contains } from '../../../../test/factories/events/areas.ts';
import {
  fromStored,
  historyUntil,
  isHistory,
  merge,
  restOf,
  subtract,
  toStored,
  union,
} from './rectangles.ts';
import type { Rectangle } from './rectangles.ts';

const edge = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom(-Infinity, Infinity) },
);
const rectangle = fc.tuple(edge, edge, edge, edge).map(([a, b, c, d]): Rectangle => ({
  event_from: Math.min(a, b),
  event_to: Math.max(a, b),
  inserted_from: Math.min(c, d),
  inserted_to: Math.max(c, d),
}));
const points = Array.from(
  { length: 16 * 16 },
  (_, index) => [Math.floor(index / 16) - 1.5, (index % 16) - 1.5] as const,
);

function covered(rectangles: Rectangle[]): string {
  return points
    .map(([event, inserted]) => (contains(rectangles, event, inserted) ? '#' : '.'))
    .join('');
}

function assertDisjoint(rectangles: Rectangle[]): void {
  for (const [event, inserted] of points)
    assert.ok(rectangles.filter((one) => contains([one], event, inserted)).length <= 1);
}

test('subtract leaves exactly the points of the base that nobody has taken, each once', () => {
  fc.assert(
    fc.property(rectangle, fc.array(rectangle, { maxLength: 6 }), (base, taken) => {
      const rest = subtract([base], taken);
      assertDisjoint(rest);
      assert.equal(
        covered(rest),
        points
          .map(([event, inserted]) =>
            contains([base], event, inserted) && !contains(taken, event, inserted) ? '#' : '.',
          )
          .join(''),
      );
    }),
    { numRuns: inDepth(500, 30_000) },
  );
});

test('union holds exactly the points of both, as disjoint rectangles', () => {
  fc.assert(
    fc.property(fc.array(rectangle, { maxLength: 6 }), rectangle, (many, added) => {
      const delivered = many.reduce<Rectangle[]>((sum, one) => union(sum, [one]), []);
      const both = union(delivered, [added]);
      assertDisjoint(both);
      assert.equal(
        covered(both),
        points
          .map(([event, inserted]) => (contains([...many, added], event, inserted) ? '#' : '.'))
          .join(''),
      );
    }),
    { numRuns: inDepth(500, 30_000) },
  );
});

test('a schedule that runs for years stays one rectangle, also beside a finished backfill', () => {
  let delivered: Rectangle[] = [];
  for (let hour = 0; hour < 500; hour += 1)
    delivered = union(delivered, [
      { event_from: hour, event_to: hour + 1, inserted_from: -Infinity, inserted_to: 1000 },
    ]);
  assert.equal(delivered.length, 1);
  for (let hour = 1000; hour < 2000; hour += 1) {
    const run: Rectangle = {
      event_from: -Infinity,
      event_to: Infinity,
      inserted_from: hour,
      inserted_to: hour + 1,
    };
    delivered = union(delivered, subtract([run], delivered));
  }
  assert.equal(delivered.length, 2);
});

test('stored rectangles come back unchanged, with null for no bound', () => {
  fc.assert(
    fc.property(fc.array(rectangle), (many) =>
      assert.deepEqual(
        fromStored(JSON.parse(JSON.stringify(toStored(many))) as ReturnType<typeof toStored>),
        fromStored(toStored(many)),
      ),
    ),
  );
  assert.deepEqual(
    toStored([{ event_from: -Infinity, event_to: Infinity, inserted_from: 1, inserted_to: 2 }]),
    [{ event_from: null, event_to: null, inserted_from: 1, inserted_to: 2 }],
  );
});

test('merge joins what shares a whole edge and drops what is empty', () => {
  const one = { event_from: 0, event_to: 1, inserted_from: 0, inserted_to: 2 };
  assert.deepEqual(
    merge([
      one,
      { event_from: 1, event_to: 2, inserted_from: 0, inserted_to: 1 },
      { event_from: 1, event_to: 2, inserted_from: 1, inserted_to: 2 },
      { event_from: 5, event_to: 5, inserted_from: 0, inserted_to: 2 },
    ]),
    [{ event_from: 0, event_to: 2, inserted_from: 0, inserted_to: 2 }],
  );
});

test('a history is taken as a whole or not at all, any other selection by its parts', () => {
  const [early, late] = [historyUntil(5), historyUntil(9)];
  assert.deepEqual(
    [isHistory([late]), isHistory([]), isHistory([early, late])],
    [true, false, false],
  );
  assert.equal(isHistory(fromStored(toStored([late]))), true);
  assert.deepEqual(restOf([late], [early]), [late]);
  assert.deepEqual(restOf([early], [late]), []);
  const part = { ...late, inserted_from: 3 };
  assert.equal(isHistory([part]), false);
  assert.deepEqual(restOf([part], [early]), [{ ...late, inserted_from: 5 }]);
  assert.equal(isHistory([{ ...late, event_from: 0 }]), false);
});
