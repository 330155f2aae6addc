import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRandom } from '../../../../test/chaos/random.ts';
import { contains } from '../../../../test/factories/events/areas.ts';
import { merge, union } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { decide } from './decide.ts';
import type { ExportFacts } from './decide.ts';
import { cutoffOf } from './setting.ts';
import type { RetentionSetting } from './setting.ts';

const day = 24 * 3_600_000;
const now = 100 * day + 5;
const all_time = { event_from: -Infinity, event_to: Infinity };
const days = (from: number, to: number): Rectangle => ({
  ...all_time,
  inserted_from: from * day,
  inserted_to: to * day,
});

/** An export that has delivered everything up to the present. */
const finished: ExportFacts = {
  id: 'a',
  name: 'a',
  model: 'events',
  revision: 1,
  paused: false,
  custom_query: null,
  write_rule: null,
  destination_type: 'S3',
  destination_config: {},
  planned_until: 100 * day,
  goes_on: true,
  wanted_from: 0,
  delivered: [days(-Infinity, 100)],
  runs: [],
  backfills: [],
};

const until_delivered: RetentionSetting = { retention: 'until_delivered', retention_days: 10 };
const by_days: RetentionSetting = { retention: 'days', retention_days: 10 };

const decided = (
  setting: RetentionSetting,
  exports: Partial<ExportFacts>[],
  more: { plugins?: { name: string; from: number }[]; settled?: number } = {},
) =>
  decide(
    setting,
    {
      exports: exports.map((one, index) => ({ ...finished, id: String(index), ...one })),
      plugins: more.plugins ?? [],
    },
    new Map(),
    { now, settled: more.settled ?? now },
  );

test('days are whole days of UTC, and nothing goes that has not settled', () => {
  assert.equal(cutoffOf(by_days, now), 90 * day);
  assert.equal(cutoffOf(by_days, 100 * day - 1), 89 * day);
  assert.deepEqual(decided(by_days, []).events[0]!.area, [days(-Infinity, 90)]);
  assert.equal(decided(by_days, [], { settled: 40 * day }).before, 40 * day);
  assert.deepEqual(decided(until_delivered, []).events, [], 'nobody has delivered anything');
});

test('the state of an export decides which rows it keeps', () => {
  const undelivered = { delivered: [days(-Infinity, 50), days(51, 100)] };
  const open = { area: [days(20, 30)], is_open: true };
  const cases: [string, Partial<ExportFacts>, boolean, boolean][] = [
    // what it is, the export beside one that delivered all, kept by days, kept until delivered
    ['finished', {}, false, false],
    ['failed or paused once', undelivered, false, true],
    ['paused', { ...undelivered, paused: true }, false, true],
    ['behind', { planned_until: 60 * day, delivered: [days(-Infinity, 60)] }, true, true],
    [
      'paused and behind',
      { planned_until: 60 * day, paused: true, delivered: [days(-Infinity, 60)] },
      false,
      true,
    ],
    [
      'at its end',
      { planned_until: 60 * day, goes_on: false, delivered: [days(-Infinity, 60)] },
      false,
      false,
    ],
    ['new', { wanted_from: 95 * day, delivered: [] }, false, true],
    ['old enough', { wanted_from: 80 * day, delivered: [days(80, 100)] }, false, false],
    ['with a run under way', { runs: [open] }, true, true],
    ['with a run in doubt', { runs: [{ ...open, is_open: false }] }, false, true],
    ['with a backfill of all', { backfills: [{ ...open, is_all: true }] }, true, true],
    ['with a backfill of what it has', { backfills: [{ ...open, is_all: false }] }, true, false],
    [
      'with a backfill that failed',
      { ...undelivered, backfills: [{ area: [days(50, 51)], is_open: false, is_all: false }] },
      false,
      true,
    ],
    ['of persons', { ...undelivered, model: 'persons' }, false, false],
    ['of sessions', { ...undelivered, model: 'sessions' }, false, true],
    ['of persons by a query', { ...undelivered, model: 'persons', custom_query: 'x' }, false, true],
  ];
  for (const [what, facts, is_kept_by_days, is_kept_until_delivered] of cases)
    for (const [setting, is_kept] of [
      [by_days, is_kept_by_days],
      [until_delivered, is_kept_until_delivered],
    ] as const) {
      const { events } = decided(setting, [{}, facts]);
      const area = events.reduce<Rectangle[]>((sum, one) => union(sum, one.area), []);
      assert.equal(
        JSON.stringify(merge(area)) !== JSON.stringify([days(-Infinity, 90)]),
        is_kept,
        `${what}, ${setting.retention}`,
      );
    }
});

test('an export without proof removes nothing', () => {
  for (const facts of [
    { custom_query: 'SELECT uuid FROM events' },
    { destination_type: 'NoOp' },
    { model: 'persons' as const },
  ])
    assert.deepEqual(decided(until_delivered, [facts]).events, []);
  const filter = { include_events: ['a'], exclude_events: ['b'] };
  assert.deepEqual(decided(until_delivered, [{ destination_config: filter }]).events[0]!.filter, {
    include_events: ['a'],
    exclude_events: ['b'],
  });
  const plugins = [{ name: 'p', from: 40 * day }];
  assert.deepEqual(decided(by_days, [], { plugins }).events[0]!.area, [days(-Infinity, 40)]);
  assert.deepEqual(decided(by_days, [], { plugins }).keepers, [
    { kind: 'plugin', id: null, name: 'p', from: 40 * day },
  ]);
});

test('an export of sessions keeps the events of two days before what it has yet to read', () => {
  const behind = { planned_until: 60 * day, delivered: [days(-Infinity, 60)] };
  const kept = (model: 'events' | 'sessions') => decided(by_days, [{ ...behind, model }]).events;
  assert.deepEqual(kept('events')[0]!.area, [days(-Infinity, 60)]);
  assert.deepEqual(kept('sessions')[0]!.area, [days(-Infinity, 58)]);
});

test('of random rows only proven and unwanted ones are removed', () => {
  const random = openRandom(7, 0);
  const number = (most: number) => Math.floor(random.next() * most);
  const area = (): Rectangle[] => {
    const [from, event] = [number(100), number(100)];
    const hasEvents = number(2) === 0;
    return [
      {
        event_from: hasEvents ? event * day : -Infinity,
        event_to: hasEvents ? (event + 1 + number(60)) * day : Infinity,
        inserted_from: number(4) === 0 ? -Infinity : from * day,
        inserted_to: (from + 1 + number(60)) * day,
      },
    ];
  };
  const some = <Created>(most: number, create: () => Created) =>
    Array.from({ length: number(most + 1) }, create);
  let removed = 0;
  for (let round = 0; round < 200; round += 1) {
    const exports = some(3, (): ExportFacts => ({
      ...finished,
      id: String(number(1_000_000)),
      wanted_from: number(100) * day,
      planned_until: number(100) * day,
      goes_on: number(2) === 0,
      delivered: some(6, area).reduce<Rectangle[]>((sum, one) => union(sum, one), []),
      runs: some(1, () => ({ area: area(), is_open: number(2) === 0 })),
      backfills: some(1, () => ({
        area: area(),
        is_open: number(2) === 0,
        is_all: number(2) === 0,
      })),
    }));
    const unproven = new Map(exports.map(({ id }) => [id, some(1, area).flat()]));
    const decision = decide(until_delivered, { exports, plugins: [] }, unproven, {
      now,
      settled: now,
    });
    for (let point = 0; point < 300; point += 1) {
      const [event, at] = [number(200) * (day / 2) + 1, number(200) * (day / 2) + 1];
      const has = (areas: Rectangle[]) => contains(areas, event, at);
      const wants = (one: ExportFacts) => {
        const isScheduled =
          (at >= one.wanted_from || one.wanted_from > 90 * day) &&
          (one.goes_on || at < one.planned_until);
        const isAsked = one.backfills.some((b) => !b.is_all && has(b.area));
        return (
          ((isScheduled || isAsked) && !has(one.delivered)) ||
          one.runs.some((run) => has(run.area)) ||
          one.backfills.some((b) => b.is_all && has(b.area))
        );
      };
      const mayGo =
        at < 90 * day &&
        exports.some((one) => has(one.delivered) && !has(unproven.get(one.id)!)) &&
        !exports.some(wants);
      const goes = decision.events.some((part) => has(part.area));
      assert.equal(goes, mayGo, `round ${round}: ${event} ${at}`);
      removed += goes ? 1 : 0;
    }
  }
  assert.ok(removed > 500, `${removed} points went`);
});
