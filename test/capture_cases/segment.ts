import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

const basic = { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` };
const about = { context: { library: { name: 'analytics' } } };

/** Messages of Segment's libraries, and the events that are stored for them. */
export const segment_cases: readonly ProtocolCase[] = [
  {
    says: 'a user id of pandas that is no number names nobody',
    path: '/v1/batch',
    body: Buffer.from(
      `{"writeKey":"${key}","batch":[{"type":"track","event":"a","userId":NaN,"anonymousId":"v"}]}`,
    ),
    wanted: [{ event: 'a', distinct_id: 'v', warnings: ['invalid_number_replaced'] }],
  },
  {
    says: 'a batch of every type',
    path: '/v1/batch',
    headers: basic,
    body: {
      writeKey: key,
      sentAt: '2026-11-22T12:00:00.000Z',
      batch: [
        {
          type: 'track',
          event: 'bought',
          messageId: 'node-next-1-x',
          timestamp: '2026-11-22T11:00:00.000Z',
          userId: 'ada',
          anonymousId: 'v1',
          properties: { amount: 1, userId: 'own', context: 'own' },
          ...about,
          integrations: {},
          _metadata: {},
        },
        { type: 'identify', userId: 'ada', anonymousId: 'v1', traits: { name: 'Ada' } },
        {
          type: 'page',
          anonymousId: 'v1',
          name: 'Home',
          properties: { url: 'https://a.example', name: 'own' },
        },
        { type: 'screen', userId: 'ada', name: 'Cart', properties: {} },
        { type: 'group', userId: 'ada', groupId: 'acme', traits: { size: 3 } },
        { type: 'alias', userId: 'ada', previousId: 'v1' },
        { type: 'page', userId: 'ada', name: '', properties: { name: 'own' } },
        { type: 'identify', userId: 'ada', anonymousId: '', traits: {} },
        { type: 'alias', userId: 'ada', previousId: '', anonymousId: 'v2' },
        { type: 'track', userId: 'ada' },
        { type: 'track', event: 'x' },
      ],
    },
    wanted: [
      {
        event: 'bought',
        distinct_id: 'ada',
        uuid: '323f443d-5f26-556d-a4ff-c9fe831718ed',
        timestamp: '2026-11-22 11:00:00.000000',
        properties: { ...about, userId: 'ada', anonymousId: 'v1', amount: 1 },
        warnings: [],
      },
      {
        event: '$identify',
        distinct_id: 'ada',
        set: { name: 'Ada' },
        merge: { other: 'v1', is_forced: false },
        properties: {
          userId: 'ada',
          anonymousId: 'v1',
          $anon_distinct_id: 'v1',
          $set: { name: 'Ada' },
        },
      },
      {
        event: '$pageview',
        distinct_id: 'v1',
        properties: {
          name: 'Home',
          $current_url: 'https://a.example',
          anonymousId: 'v1',
          url: 'https://a.example',
        },
      },
      {
        event: '$screen',
        distinct_id: 'ada',
        properties: { name: 'Cart', $screen_name: 'Cart', userId: 'ada' },
      },
      {
        event: '$groupidentify',
        distinct_id: 'ada',
        properties: {
          groupId: 'acme',
          userId: 'ada',
          $group_type: 'group',
          $group_key: 'acme',
          $group_set: { size: 3 },
        },
      },
      {
        event: '$create_alias',
        distinct_id: 'ada',
        properties: { userId: 'ada', alias: 'v1' },
        merge: { other: 'v1', is_forced: false },
      },
      { event: '$pageview', distinct_id: 'ada', properties: { name: 'own', userId: 'ada' } },
      { event: '$identify', distinct_id: 'ada', properties: { userId: 'ada', $set: {} } },
      { event: '$create_alias', distinct_id: 'ada', merge: { other: 'v2', is_forced: false } },
      { refused: 'event_name_missing' },
      { refused: 'distinct_id_missing' },
    ],
  },
  {
    says: 'a batch of analytics-go, which has the context once for all',
    path: '/v1/batch',
    headers: basic,
    body: {
      context: { library: { name: 'analytics-go', version: '3.0.0' }, app: { name: 'shop' } },
      batch: [
        { type: 'track', event: 'a', userId: 'ada' },
        { type: 'track', event: 'b', userId: 'ada', context: { app: { build: '7' } } },
        { type: 'track', event: 'c', userId: 'ada', context: null },
      ],
    },
    wanted: [
      {
        event: 'a',
        distinct_id: 'ada',
        properties: {
          userId: 'ada',
          context: { library: { name: 'analytics-go', version: '3.0.0' }, app: { name: 'shop' } },
        },
      },
      {
        event: 'b',
        distinct_id: 'ada',
        properties: {
          userId: 'ada',
          context: { library: { name: 'analytics-go', version: '3.0.0' }, app: { build: '7' } },
        },
      },
      {
        event: 'c',
        distinct_id: 'ada',
        properties: {
          userId: 'ada',
          context: { library: { name: 'analytics-go', version: '3.0.0' }, app: { name: 'shop' } },
        },
      },
    ],
  },
  {
    says: 'one call of the browser, whose clock is an hour early',
    path: '/v1/t',
    body: {
      event: 'seen',
      anonymousId: 'v1',
      messageId: '0190163d-8694-739b-aea5-966c26f8ad91',
      timestamp: '2026-11-22T12:59:59.000Z',
      sentAt: '2026-11-22T13:00:00.000Z',
      writeKey: key,
    },
    wanted: [
      {
        event: 'seen',
        distinct_id: 'v1',
        uuid: '0190163d-8694-739b-aea5-966c26f8ad91',
        timestamp: '2026-11-22 11:59:59.000000',
        warnings: ['clock_skew_mended'],
      },
    ],
  },
  {
    says: "the batch under the path that is PostHog's too",
    path: '/batch',
    body: { writeKey: key, batch: [{ type: 'track', event: 'x', userId: 7 }] },
    wanted: [{ event: 'x', distinct_id: '7' }],
  },
];
