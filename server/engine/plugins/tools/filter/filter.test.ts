import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { findToolLibrary } from '../../sandbox/tool_library.ts';
import { holds } from './filter.ts';
import { filterFault } from './filter_fault.ts';
import { readFilter } from './read_filter.ts';

const order = {
  type: 'track',
  event: 'Order Completed',
  userId: 'ada',
  messageId: 'm1',
  properties: {
    price: 19.5,
    plan: 'pro',
    paid: true,
    empty: '',
    nothing: null,
    $browser: 'Firefox',
    'first name': 'Ada',
    'a.b': 'dotted',
    list: [{ sku: 's1' }, { sku: 's2' }],
    inner: { deep: 'x' },
  },
  context: { page: { path: '/pricing' } },
};
const page = { type: 'page', name: 'Home', properties: { path: '/' } };
const identify = { type: 'identify', traits: { plan: 'pro', seats: 5 }, userId: 'ada' };
const events = [order, page, identify];

function letsThrough(text: string, event: object): boolean {
  const filter = readFilter(text);
  if (typeof filter === 'string') throw new Error(`${text}: ${filter}`);
  return holds(filter, event);
}

/** The conditions that the library reads as we do. */
const common = [
  'type = "track"',
  'type != "track"',
  'type="page"',
  'type = track or type = page',
  'event = "Order Completed"',
  "event != 'x'",
  'type = "track" and event != "Order Completed" and event != "x"',
  'type = "track" and (event = "x" or event = "Order Completed")',
  '(type = "page" or type = "track") and properties.price > 10',
  'properties.price >= 19.5',
  'properties.price < 19.5',
  'properties.price <= 19.5',
  'properties.price > "10"',
  'properties.price = 19.5',
  'properties.price = "19.5"',
  'properties.price != 19.5',
  'properties.price != 20',
  'properties.absent != 20',
  'properties.absent != "x"',
  'properties.plan = "pro"',
  'properties.plan > 5',
  'properties.paid = true',
  'properties.paid = false',
  'properties.empty = ""',
  'properties.absent = null',
  'properties.nothing = null',
  'properties.plan != null',
  'properties.nothing != null',
  'properties.inner.deep = "x"',
  'properties.first\\ name = "Ada"',
  'contains(properties.plan, "r")',
  'contains(properties.price, "1")',
  '!contains(event, "Order")',
  '!contains(properties.absent, "x")',
  'match(event, "Order*")',
  'match(event, "*Completed")',
  '!match(event, "*x")',
  'match(name, "Ho*") or traits.seats > 4',
  'contains(context.page.path, "pric") and userId = "ada"',
  'userId = null',
  'name = "Home"',
  'traits.plan = "pro"',
  'type != ""',
];

test('Filters match what the library matches', () => {
  const library = findToolLibrary(undefined);
  assert.ok(library, 'the package of tools is installed for development');
  const require = createRequire(`${library.folder}/package.json`);
  const core = createRequire(require.resolve('@segment/actions-core'));
  const { parseFql, validate } = core('@segment/destination-subscriptions') as {
    parseFql(text: string): object;
    validate(filter: object, event: object): boolean;
  };
  for (const text of common)
    for (const event of events)
      assert.equal(
        letsThrough(text, event),
        validate(parseFql(text), event),
        `${text} for ${event.type}`,
      );
});

test('A filter that the library reads and never matches, matches', () => {
  const texts = [
    'type == "track"',
    'type = = "track"',
    'type = "Track" AND event = "Order Completed"',
    'properties.$browser = "Firefox"',
    'properties.list.1.sku = "s2"',
    'properties.list[0].sku = "s1"',
    'properties.a\\.b = "dotted"',
    'type = "track" and (contains(event, "x") or event = "Order Completed")',
    'type = "track" and (event = "x" or (userId = "ada" and properties.price > 1))',
    `event = 'Order Completed'`,
    'properties.paid != false',
  ];
  for (const text of texts) assert.equal(letsThrough(text, order), true, text);
  assert.equal(letsThrough('properties.paid != true', order), false);
  assert.equal(letsThrough('properties.constructor != null', order), false);
  assert.equal(letsThrough('properties.quote = "a\\"b"', { properties: { quote: 'a"b' } }), true);
});

const faults: [string, RegExp][] = [
  ['', /is empty/],
  ['type', /ends where an operator is expected/],
  ['type =', /ends where a value is expected/],
  ['type ~ "track"', /needs one of = == != .* after type/],
  ['type = "tracks"', /names the type "tracks"\. There are track, identify/],
  ['event = Order Completed', /quotes around "Order Completed"/],
  ['type = "track" and event = "a" or event = "b"', /both "and" and "or"/],
  ['(type = "track"', /needs "\)" at its end/],
  ['type = "track")', /has a "\)" too many/],
  ['foo = "bar"', /names foo\. A field is one of type, event/],
  ['properties = "bar"', /names properties\./],
  ['event = "open', /cannot be read from "\\"open" on/],
  ['!event = "x"', /Use != for a value/],
  ['match(event, "x")', /needs a \*/],
  ['contains(event "x")', /needs "," before x/],
  ['properties.price > cheap', /needs a number after properties.price >/],
  ['event > null', /compare null by = and != alone/],
  ['type = "track" and type = "page"', /matches no event: type cannot be both track and page/],
  ['type = "page" and event = "x"', /events of the type page have no event.* is track/],
  ['type = "track" and contains(traits.plan, "x")', /type track have no traits/],
  ['event = "a" and (event = "b" and type = "track")', /both a and b/],
  ['(type = "page" and event = "x") or (event = "a" and event = "b")', /matches no event/],
  [`${'('.repeat(12)}type = "track"${')'.repeat(12)}`, /more than 10 others/],
  [`event = "${'x'.repeat(10_000)}"`, /longer than 10000/],
];
for (const [text, fault] of faults)
  test(`The filter ${text.slice(0, 60)} is refused`, () =>
    assert.match(filterFault(text) ?? 'It is sound.', fault));

test('Sound filters are taken', () => {
  for (const text of [...common, 'type = "page" and event != "x"', 'event = "a" or event = "b"'])
    assert.equal(filterFault(text), undefined, text);
});
