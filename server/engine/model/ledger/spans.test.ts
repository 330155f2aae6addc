import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { contains } from '../../../../test/factories/events/areas.ts';
import { coveredEventSpans, coveredSpans, isCovered, multirangeText } from './spans.ts';

const bound = fc.constantFrom(-Infinity, 0, 1, 2, 3, 4, 5, Infinity);
const range = fc
  .tuple(bound, bound)
  .filter(([from, to]) => from < to && from !== Infinity && to !== -Infinity);
const area = fc.record({ event: range, inserted: range }).map(({ event, inserted }) => ({
  event_from: event[0],
  event_to: event[1],
  inserted_from: inserted[0],
  inserted_to: inserted[1],
}));

test('an instant is in a span exactly when every event time is in the areas there', () => {
  fc.assert(
    fc.property(fc.array(area, { maxLength: 8 }), (areas) => {
      const spans = coveredSpans(areas);
      for (let at = -0.5; at < 6; at += 1) {
        let every = true;
        for (let event = -0.5; event < 6; event += 1) every &&= contains(areas, event, at);
        assert.equal(isCovered(spans, at, at + 0.25), every);
      }
      for (const [index, { from, to }] of spans.entries()) {
        assert.ok(from < to);
        if (index > 0) assert.ok(spans[index - 1]!.to < from);
      }
    }),
  );
});

test('an event time is in a span when every insertion before the bound is in the areas', () => {
  fc.assert(
    fc.property(
      fc.array(area, { maxLength: 8 }),
      fc.integer({ min: 0, max: 5 }),
      (areas, until) => {
        const spans = coveredEventSpans(areas, until);
        for (let event = -0.5; event < 6; event += 1) {
          let every = true;
          for (let at = -0.5; at < until; at += 1) every &&= contains(areas, event, at);
          assert.equal(isCovered(spans, event, event + 0.25), every);
        }
      },
    ),
  );
});

test('spans are spelled as PostgreSQL reads them', () => {
  assert.equal(
    multirangeText([
      { from: -Infinity, to: 0 },
      { from: 1000, to: Infinity },
    ]),
    '{[,1970-01-01T00:00:00.000Z),[1970-01-01T00:00:01.000Z,)}',
  );
  assert.equal(multirangeText([]), '{}');
});
