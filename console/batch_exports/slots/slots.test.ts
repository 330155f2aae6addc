import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../../../test/depth.ts';
import type { SlotRange } from '../../../server/api/batch_exports/slots/schema.ts';
import {
  boundaryAfter,
  boundaryAtOrBefore,
  intervals,
} from '../../../server/engine/exports/planning/interval.ts';
import { ticksOf } from './axis.ts';
import { slotAt, slotLength, slotsTouched } from './boundaries.ts';
import { columnShares, countsOf, drawnOf, partsIn, rangeAt } from './drawn.ts';
import { gapIn } from './gap_in.ts';
import { inWords, kind_names, kindOf, kinds } from './kinds.ts';
import { bottomOf, laneAt, placesOf } from './lanes.ts';
import { askedFor, firstView, moved, readView, serves, showing, zoomed } from './view.ts';

const at = (text: string) => Date.parse(text);
const hour = 3_600_000;
const day = 24 * hour;
const start = at('2026-01-01T00:00:00Z');

const range = (from: number, to: number, more: Partial<SlotRange> = {}): SlotRange => ({
  start_at: new Date(start + from * hour).toISOString(),
  end_at: new Date(start + to * hour).toISOString(),
  slots: to - from,
  state: 'delivered',
  reason: null,
  needed_retries: false,
  detail: '',
  first_run: null,
  last_run: null,
  records_completed: 0,
  records_total_count: 0,
  ...more,
});

test('slots begin and end where those of the server do, also where clocks change', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/Santiago', 'Asia/Beirut', 'Australia/Lord_Howe'];
  const offsets = { day: [0, 150], week: [0, 6 * 1_440 + 150] };
  const end = at('2027-01-03Z');
  for (const timezone of zones)
    for (const interval of intervals)
      for (const offset_minutes of interval === 'day' || interval === 'week'
        ? offsets[interval]
        : [0]) {
        const rhythm = { interval, timezone, offset_minutes };
        // An instant in nearly every day, so also in those that are an hour longer or shorter.
        const step = inDepth(interval === 'day' ? 23 : 61, 13) * hour;
        for (let instant = at('2025-12-28T00:07:00Z'); instant < end; instant += step) {
          const { from, to } = slotAt(rhythm, instant);
          if (from !== boundaryAtOrBefore(rhythm, instant) || to !== boundaryAfter(rhythm, instant))
            assert.fail(`${JSON.stringify(rhythm)} at ${new Date(instant).toISOString()}`);
        }
      }
});

test('a view zooms around its place, within bounds, and moves as far as it must', () => {
  const view = { from: start, to: start + day };
  assert.deepEqual(zoomed(view, start, 0.5, hour), { from: start, to: start + day / 2 });
  assert.deepEqual(zoomed(view, start + day, 2, hour), { from: start - day, to: start + day });
  const closest = zoomed(view, start, 1e-9, hour);
  assert.equal(closest.to - closest.from, 8 * hour);
  const widest = zoomed(view, start, 1e9, 300_000);
  assert.equal(widest.to - widest.from, 200_000 * 300_000);
  assert.deepEqual(moved(view, -0.5), { from: start - day / 2, to: start + day / 2 });
  assert.equal(showing(view, { from: start, to: start + hour }), view);
  assert.equal(showing(view, { from: start + day, to: start + day + hour }).to, view.to + hour);
  assert.equal(showing(view, { from: start - hour, to: start }).from, view.from - hour);
  assert.deepEqual(readView('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', hour), view);
  assert.equal(readView('', '2026-01-02T00:00:00Z', hour), undefined);
  assert.equal(readView('2026-01-03T00:00:00Z', '2026-01-02T00:00:00Z', hour), undefined);
});

test('the first view has the latest slots, or what is selected', () => {
  const now = start + 1.5 * hour;
  const first = firstView(hour, now, 0, undefined);
  assert.ok(first.from < start - 29 * day && first.to > now);
  assert.deepEqual(
    [hour, 40 * hour, 10 * day, 400 * day].map((age) => {
      const { from, to } = firstView(hour, now, now - age, undefined);
      return (to - from) / hour;
    }),
    [24, 45, 270, 720],
    'a little more than there is of a young export',
  );
  const old = { from: start - 400 * day, to: start - 400 * day + hour };
  const around = firstView(hour, now, 0, old);
  assert.ok(around.from < old.from && around.to > old.to && around.to < start);
});

test('the requested range holds the view, stays for small moves, and is not too long', () => {
  for (const interval of intervals) {
    const length = slotLength({ interval });
    for (const slots of [8, 60, 8_640, 200_000]) {
      const view = zoomed({ from: start, to: start + slots * length }, start, 1, length);
      const asked = askedFor(view, length);
      assert.ok(serves(asked, view, length));
      assert.ok(asked.from <= view.from && asked.to >= view.to);
      assert.ok((asked.to - asked.from) / length <= 250_000, `${interval} ${slots}`);
      assert.ok(asked.to - asked.from <= 3_660 * day, `${interval} ${slots}`);
    }
  }
  const view = { from: start + 1000, to: start + 10 * hour };
  assert.deepEqual(askedFor(moved(view, 0.01), hour), askedFor(view, hour));
  // The rows are kept while they cover the view, and are neither far longer nor too many.
  const asked = askedFor(view, hour);
  const middle = (view.from + view.to) / 2;
  const near = zoomed(view, middle, 1 / 3, hour);
  assert.deepEqual([serves(asked, near, hour), serves(asked, near, hour / 1e6)], [true, false]);
  assert.ok(!serves(asked, moved(view, 5), hour));
  assert.ok(!serves(asked, { from: middle, to: middle + 1 }, hour));
});

test('columns have their shares of each kind, and counts are those of the view', () => {
  const drawn = drawnOf([
    range(0, 10),
    range(10, 11, { state: 'failed' }),
    range(11, 12, { state: 'missing', reason: 'paused' }),
    range(12, 20, { state: 'missing', reason: 'schedule_changed' }),
  ]);
  const view = { from: start + 8 * hour, to: start + 16 * hour };
  const shares = columnShares(drawn, view, 2);
  const share = (column: number, name: (typeof kind_names)[number]) =>
    shares[column * kind_names.length + kind_names.indexOf(name)];
  assert.deepEqual(
    [share(0, 'delivered'), share(0, 'failed'), share(0, 'paused'), share(0, 'missing')],
    [0.5, 0.25, 0.25, 0],
  );
  assert.deepEqual([share(1, 'delivered'), share(1, 'missing')], [0, 1]);
  const counts = countsOf(partsIn({ by: 'inserted_at', drawn }, view));
  const count = (name: (typeof kind_names)[number]) => counts.get(kind_names.indexOf(name));
  assert.deepEqual(
    [count('delivered'), count('failed'), count('paused'), count('missing'), count('waiting')],
    [2, 1, 1, 4, undefined],
  );
  assert.equal(rangeAt(drawn, start + 10 * hour)?.state, 'failed');
  assert.equal(rangeAt(drawn, start - 1), undefined);
  assert.equal(rangeAt(drawn, start + 20 * hour), undefined);
});

test('a range that the view cuts shows whole slots in view', () => {
  const rhythm = { interval: 'hour', timezone: 'UTC', offset_minutes: 0 } as const;
  const drawn = drawnOf([
    range(-600, 2, { state: 'outside', reason: 'made_later' }),
    range(2, 4),
    range(4, 100, { state: 'waiting' }),
  ]);
  const view = { from: start - 0.5 * hour, to: start + 4.5 * hour };
  const parts = partsIn({ by: 'inserted_at', drawn }, slotsTouched(rhythm, view));
  assert.deepEqual(
    parts.map(({ from, to, slots, is_cut }) => [
      (from - start) / hour,
      (to - start) / hour,
      slots,
      is_cut,
    ]),
    [
      [-1, 2, 3, true],
      [2, 4, 2, false],
      [4, 5, 1, true],
    ],
  );
});

test('a kind is one of trouble only where something should have been delivered', () => {
  const of = (state: SlotRange['state'], reason: SlotRange['reason'], needed_retries = false) => {
    const name = kindOf({ state, reason, needed_retries });
    return [name, kinds[name].is_trouble, inWords({ state, reason, needed_retries })];
  };
  assert.deepEqual(of('missing', 'paused'), ['paused', true, 'Missing: the export was paused']);
  assert.deepEqual(of('missing', 'cancelled'), ['missing', true, 'Missing: its run was cancelled']);
  // After the first day's backfill nothing is said to be missing (C-01).
  assert.deepEqual(of('outside', 'made_later'), ['before', false, 'Before this export']);
  assert.deepEqual(of('outside', 'no_backfill'), ['not_asked', false, 'No backfill']);
  assert.deepEqual(of('delivered', null, true), ['retried', false, 'Delivered after retries']);
  // A run that waits after a failed attempt delivers nothing (C-04).
  assert.deepEqual(of('under_way', null, true), ['retrying', true, 'Retrying']);
  assert.deepEqual(of('under_way', null), ['under_way', false, 'In progress']);
  assert.deepEqual(of('delivered', null), ['delivered', false, 'Delivered']);
});

test('each kind is told from the others without its colour', () => {
  const drawn = kind_names.filter((name) => kinds[name].colour !== '');
  const alarming = drawn.filter((name) => kinds[name].is_trouble);
  assert.deepEqual(new Set(alarming.map((name) => kinds[name].lines)).size, alarming.length);
  assert.ok(alarming.every((name) => kinds[name].lines !== ''));
  assert.ok(kinds.retried.is_marked && !kinds.delivered.is_marked);
});

test('lanes lie under each other, and a height is in the nearest one', () => {
  for (const count of [1, 2]) {
    const places = placesOf(count);
    const lanes = places.map((_, index) => index);
    for (const [index, { top, height }] of places.entries())
      for (const y of [top, top + height / 2, top + height - 1])
        assert.equal(laneAt(lanes, y), index);
    assert.equal(laneAt(lanes, 0), 0);
    assert.equal(laneAt(lanes, bottomOf(count) + 30), count - 1);
  }
});

test('the latest gap is offered for repair; what is planned by itself is not', () => {
  const lane = (by: 'inserted_at' | 'timestamp', ranges: SlotRange[]) =>
    partsIn({ by, drawn: drawnOf(ranges) }, { from: start, to: start + day });
  const parts = [
    ...lane('inserted_at', [
      range(0, 2, { state: 'outside', reason: 'made_later' }),
      range(2, 3, { state: 'missing', reason: 'paused' }),
      range(3, 5, { state: 'missing', reason: 'not_planned' }),
    ]),
    ...lane('timestamp', [
      range(0, 3),
      range(3, 4, { state: 'missing', reason: 'cancelled' }),
      range(4, 6, { state: 'outside', reason: 'no_backfill' }),
    ]),
  ];
  const found = gapIn(parts)!;
  assert.deepEqual(
    [found.gap.by, (found.gap.from - start) / hour, found.gap.slots, found.others],
    ['timestamp', 3, 1, 1],
  );
  assert.equal(gapIn(lane('timestamp', [range(0, 3)])), undefined);
});

test('ticks stand at round hours, days and months of the zone', () => {
  const texts = (from: string, to: string, zone: string, most: number) =>
    ticksOf({ from: at(from), to: at(to) }, zone, most).map(({ text }) => text);
  const morning = ['2026-01-01T00:00:00Z', '2026-01-01T03:00:00Z'] as const;
  assert.deepEqual(texts(...morning, 'UTC', 4), ['01-01', '01:00', '02:00', '03:00']);
  assert.deepEqual(texts(...morning, 'Europe/Berlin', 4), ['01:00', '02:00', '03:00', '04:00']);
  assert.deepEqual(texts(...morning, 'Asia/Kolkata', 4), ['06:00', '07:00', '08:00']);
  const changed = ['2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'] as const;
  assert.deepEqual(texts(...changed, 'Europe/Berlin', 4), ['03-29', '12:00', '03-30', '12:00']);
  assert.deepEqual(texts('2025-01-15Z', '2026-01-15Z', 'UTC', 5), [
    '2025-04',
    '2025-07',
    '2025-10',
    '2026-01',
  ]);
});

test('a change of the clocks gives each shown hour one tick', () => {
  const zone = 'Europe/Berlin';
  const ticks = (from: string, to: string, most: number) =>
    ticksOf({ from: at(from), to: at(to) }, zone, most).map(
      (tick) => `${new Date(tick.at).toISOString().slice(11, 16)} ${tick.text}`,
    );
  assert.deepEqual(ticks('2026-03-29T00:00:00Z', '2026-03-29T02:00:00Z', 2), [
    '00:00 01:00',
    '01:00 03:00',
    '02:00 04:00',
  ]);
  assert.deepEqual(ticks('2026-10-24T23:00:00Z', '2026-10-25T02:00:00Z', 3), [
    '23:00 01:00',
    '00:00 02:00',
    '01:00 02:00',
    '02:00 03:00',
  ]);
  // A view that begins and ends in the hour that occurs twice.
  assert.deepEqual(ticks('2026-10-25T00:40:00Z', '2026-10-25T01:20:00Z', 3), [
    '00:45 02:45',
    '01:00 02:00',
    '01:15 02:15',
  ]);
  // Midnight is left out in Beirut: the day stands where it begins, alone.
  assert.deepEqual(
    ticksOf({ from: at('2026-03-28T21:00:00Z'), to: at('2026-03-28T23:00:00Z') }, 'Asia/Beirut', 2),
    [
      { at: at('2026-03-28T21:00:00Z'), text: '23:00' },
      { at: at('2026-03-28T22:00:00Z'), text: '03-29' },
      { at: at('2026-03-28T23:00:00Z'), text: '02:00' },
    ],
  );
});
