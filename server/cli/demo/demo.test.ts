import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import { parseEvent } from '../../engine/ingest/parse/parse.ts';
import { fillEvents } from '../../../test/factories/events/fill_events.ts';
import { plantedGap, spansAround } from './gap.ts';
import { generateWebShop } from './web_shop.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const hour = 3_600_000;
const from = Date.parse('2026-03-02T07:00:00Z');
const range = { seed: 1, from, to: from + 26 * hour, events: 8_000 };

const harness = aroundTests(openHarness);

test('the web shop is the same for a seed, in order, in its range, as large as asked', () => {
  const events = [...generateWebShop(range)];
  assert.deepEqual(events, [...generateWebShop(range)]);
  assert.ok(Math.abs(events.length - 8_000) < 1_000, `${events.length} events`);
  assert.equal(new Set(events.map((event) => event.uuid)).size, events.length);
  for (const [index, event] of events.entries()) {
    assert.equal(parseEvent(JSON.stringify(event), 0).problems, undefined);
    assert.ok(Date.parse(event.timestamp) >= range.from && Date.parse(event.timestamp) < range.to);
    assert.ok(index === 0 || events[index - 1]!.timestamp <= event.timestamp);
  }
  assert.notDeepEqual(events[0], generateWebShop({ ...range, seed: 2 }).next().value);
});

test('an hour later the hours in common have the same events', () => {
  const first = new Set([...generateWebShop(range)].map((event) => event.uuid));
  const later = [...generateWebShop({ ...range, from: range.from + hour, to: range.to + hour })];
  const fresh = later.filter((event) => !first.has(event.uuid));
  assert.ok(fresh.length > 0);
  for (const event of fresh) assert.ok(Date.parse(event.timestamp) >= range.to);
});

test('the shop is believable: funnels leak, nights are quiet, customers come back', () => {
  const events = [...generateWebShop(range)];
  const count = (name: string) => events.filter((event) => event.event === name).length;
  const funnel = [
    '$pageview',
    'product viewed',
    'added to cart',
    'checkout started',
    'order completed',
  ].map(count);
  for (const [step, amount] of funnel.entries())
    assert.ok(step === 0 || (amount > 0 && amount < funnel[step - 1]!), String(funnel));
  const at = (wanted: number) =>
    events.filter((event) => new Date(event.timestamp).getUTCHours() === wanted).length;
  assert.ok(at(19) > 5 * at(3));
  assert.ok(events.some((event) => event.event === 'signed up' && '$set' in event.properties));
  const sessions = new Map<string, Set<unknown>>();
  for (const event of events)
    sessions.set(
      event.distinct_id,
      (sessions.get(event.distinct_id) ?? new Set()).add(event.properties['$session_id']),
    );
  assert.ok([...sessions.values()].some((own) => own.size > 3));
  const order = events.find((event) => event.event === 'order completed')!.properties;
  const items = order['items'] as { price: number; quantity: number }[];
  assert.equal(
    Math.round(items.reduce((sum, item) => sum + item.price * item.quantity, 0) * 100),
    Math.round(Number(order['total']) * 100),
  );
});

test('a second demo leaves the planted gap to the person', () => {
  const at = (hours: number) => new Date(from + hours * hour).toISOString();
  const backfill = (status: string, start: number, end: number) => ({
    status,
    start_at: at(start),
    end_at: at(end),
  });
  const listed = [
    backfill('Cancelled', 30, 31),
    backfill('Completed', 18, 24),
    backfill('Completed', 0, 17),
    backfill('Cancelled', 17, 18),
  ];
  const gap = plantedGap(listed, hour);
  assert.deepEqual(gap, { from: from + 17 * hour, to: from + 18 * hour });
  assert.deepEqual(spansAround({ from, to: from + 24 * hour }, gap), [
    { from, to: from + 17 * hour },
    { from: from + 18 * hour, to: from + 24 * hour },
  ]);
  // A week later there is nothing to leave out.
  const later = { from: from + 100 * hour, to: from + 124 * hour };
  assert.deepEqual(spansAround(later, gap), [later]);
  assert.deepEqual(spansAround(later, undefined), [later]);
});

test('the fast filling gives rows like those of ingestion', async () => {
  const { clickhouse } = harness.deps;
  await fillEvents(clickhouse, { team_id: 77, events: 21_000, from, to: from + hour });
  const [row] = await clickhouse.rows<Record<string, unknown>>({
    query: `SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(uuid)) AS uuids,
      toUInt32(uniqExact(inserted_at)) AS batches,
      toUInt32(countIf(isValidJSON(properties))) AS valid,
        avg(length(properties)) AS bytes, min(timestamp) AS first, max(timestamp) AS last,
          min(inserted_at) AS inserted FROM events WHERE team_id = 77`,
  });
  assert.deepEqual(
    [row!['rows'], row!['uuids'], row!['batches'], row!['valid']],
    [21_000, 21_000, 3, 21_000],
  );
  assert.ok(Number(row!['bytes']) > 400 && Number(row!['bytes']) < 600, String(row!['bytes']));
  assert.deepEqual(
    [row!['first'], row!['inserted']],
    ['2026-03-02T07:00:00.000000Z', '2026-03-02T07:00:00.000000Z'],
  );
  assert.match(String(row!['last']), /^2026-03-02T07:59:59/);
});
