import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withProperties } from '../running/read_events.ts';
import { toolEvent } from './event.ts';

const uuid = '0190163d-8694-739b-aea5-966c26f8ad91';
const device = '11111111-2222-4333-8444-555555555555';

function given(
  event: string,
  properties: Record<string, unknown>,
  more: { distinct_id?: string; person?: Record<string, unknown> } = {},
) {
  return withProperties({
    uuid,
    event,
    distinct_id: more.distinct_id ?? 'ada',
    team_id: 1,
    timestamp: '2026-11-29T10:00:00.123456Z',
    inserted_at: '2026-11-29T10:00:02.000000Z',
    properties,
    elements_chain: '',
    person: { id: device, properties: more.person ?? {} },
  });
}

const common = {
  messageId: uuid,
  timestamp: '2026-11-29T10:00:00.123Z',
  originalTimestamp: '2026-11-29T10:00:00.123Z',
  receivedAt: '2026-11-29T10:00:02.000Z',
  context: { traits: {} },
};

const cases: [string, Parameters<typeof given>, Record<string, unknown>][] = [
  [
    'an event is a track call of a user',
    ['Bought', { price: 3, $lib: 'web' }],
    {
      type: 'track',
      event: 'Bought',
      userId: 'ada',
      properties: { price: 3 },
      context: { library: { name: 'web' }, traits: {} },
    },
  ],
  [
    'an id that an SDK invented is anonymous',
    ['Bought', { price: 3 }, { distinct_id: device }],
    { type: 'track', event: 'Bought', anonymousId: device, properties: { price: 3 } },
  ],
  [
    'an identified person keeps an id of that form',
    ['Bought', { $is_identified: true }, { distinct_id: device }],
    { type: 'track', event: 'Bought', userId: device, properties: {} },
  ],
  [
    'the id of the device is nobody',
    ['Bought', { $device_id: 'phone' }, { distinct_id: 'phone' }],
    {
      type: 'track',
      event: 'Bought',
      anonymousId: 'phone',
      properties: {},
      context: { device: { id: 'phone' }, traits: {} },
    },
  ],
  [
    '$identify has traits and the id from before',
    [
      '$identify',
      { $set: { email: 'a@b.c', $os: 'x' }, $set_once: { plan: 'a' }, $anon_distinct_id: device },
    ],
    { type: 'identify', userId: 'ada', anonymousId: device, traits: { plan: 'a', email: 'a@b.c' } },
  ],
  [
    '$groupidentify is a group call',
    ['$groupidentify', { $group_type: 'group', $group_key: 'acme', $group_set: { size: 3 } }],
    { type: 'group', userId: 'ada', groupId: 'acme', traits: { size: 3 } },
  ],
  [
    '$create_alias is an alias call',
    ['$create_alias', { alias: 'old' }],
    { type: 'alias', userId: 'ada', previousId: 'old' },
  ],
  [
    '$pageview is a page call, with the page in properties and context',
    ['$pageview', { $current_url: 'https://a.b/c?d=1', name: 'Home', $referrer: 'https://e.f/' }],
    {
      type: 'page',
      name: 'Home',
      userId: 'ada',
      properties: {
        url: 'https://a.b/c?d=1',
        path: '/c',
        search: '?d=1',
        referrer: 'https://e.f/',
        name: 'Home',
      },
      context: {
        page: { url: 'https://a.b/c?d=1', path: '/c', search: '?d=1', referrer: 'https://e.f/' },
        traits: {},
      },
    },
  ],
  [
    '$screen is a screen call',
    ['$screen', { $screen_name: 'Cart', category: 'Shop' }],
    {
      type: 'screen',
      name: 'Cart',
      category: 'Shop',
      userId: 'ada',
      properties: { category: 'Shop' },
    },
  ],
  [
    'what a call had beside its properties stands there again, and its own word stays',
    [
      'Bought',
      {
        price: 3,
        userId: 'u1',
        anonymousId: 'a1',
        groupId: 'g1',
        context: { ip: '1.2.3.4', traits: { plan: 'pro' }, page: { url: 'https://x.y/' } },
        $ip: '9.9.9.9',
        $current_url: 'https://a.b/',
      },
      { person: { plan: 'free', email: 'a@b.c', $initial_os: 'x' } },
    ],
    {
      type: 'track',
      event: 'Bought',
      userId: 'u1',
      anonymousId: 'a1',
      groupId: 'g1',
      properties: { price: 3 },
      context: {
        ip: '1.2.3.4',
        groupId: 'g1',
        page: { url: 'https://x.y/' },
        traits: { plan: 'pro', email: 'a@b.c' },
      },
    },
  ],
];

for (const [title, parameters, expected] of cases)
  test(`An event for tools: ${title}`, () => {
    assert.deepEqual(toolEvent(given(...parameters), false), { ...common, ...expected });
  });

test('An event for tools: names with $ are sent where the switch says so', () => {
  const { properties, context } = toolEvent(
    given('Bought', { $browser: 'Firefox' }, { person: { $initial_os: 'x' } }),
    true,
  ) as unknown as { properties: object; context: { traits: object } };
  assert.deepEqual(properties, { $browser: 'Firefox' });
  assert.deepEqual(context.traits, { $initial_os: 'x' });
});
