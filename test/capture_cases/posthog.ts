import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

const uuid = '0190163d-8694-739b-aea5-966c26f8ad91';

/** Messages of PostHog's clients, and the events that are stored for them. */
export const posthog_cases: readonly ProtocolCase[] = [
  {
    says: 'a batch of libraries for servers',
    path: '/batch/',
    body: {
      api_key: key,
      batch: [
        {
          event: 'bought',
          uuid: uuid.toUpperCase(),
          distinct_id: 'ada',
          timestamp: '2026-11-22T11:59:59.123456Z',
          properties: { $lib: 'posthog-node', amount: 1 },
          type: 'capture',
          library: 'posthog-node',
        },
        // posthog-ruby names its events so.
        {
          event: 'sold',
          distinct_id: 'ada',
          properties: { $lib: 'posthog-ruby' },
          library: 'posthog-ruby',
          messageId: '0190163d-8694-739b-aea5-966c26f8ad92',
        },
      ],
      sent_at: '2026-11-22T11:59:59.500Z',
    },
    wanted: [
      {
        event: 'bought',
        distinct_id: 'ada',
        uuid,
        timestamp: '2026-11-22 11:59:59.123456',
        properties: { $lib: 'posthog-node', amount: 1 },
        warnings: [],
      },
      {
        event: 'sold',
        distinct_id: 'ada',
        uuid: '0190163d-8694-739b-aea5-966c26f8ad92',
        warnings: [],
      },
    ],
  },
  {
    says: 'a list of posthog-js, with who and which key in the properties, and how long ago',
    path: '/e/',
    query: { ip: '1', _: String(Date.parse('2026-11-22T12:00:00Z')) },
    body: [
      {
        event: '$pageview',
        uuid,
        offset: 1500,
        properties: { token: key, distinct_id: 'visitor' },
        $set_once: { first: 1 },
      },
    ],
    wanted: [
      {
        event: '$pageview',
        distinct_id: 'visitor',
        timestamp: '2026-11-22 11:59:58.500000',
        properties: { token: key, distinct_id: 'visitor', $set_once: { first: 1 } },
        set_once: { first: 1 },
      },
    ],
  },
  {
    says: 'one event in a query',
    method: 'GET',
    path: '/e',
    query: {
      data: Buffer.from(
        JSON.stringify({ event: 'seen', properties: { distinct_id: 7, token: key } }),
      ).toString('base64'),
    },
    wanted: [{ event: 'seen', distinct_id: '7', timestamp: '2026-11-22 12:00:00.000000' }],
  },
  {
    says: 'identify, alias and groups are events; what is set stands beside and within',
    path: '/e/',
    body: {
      api_key: key,
      batch: [
        {
          event: '$identify',
          properties: { distinct_id: 'ada', $anon_distinct_id: 'v1' },
          $set: { name: 'Ada' },
          $set_once: { from: 'web' },
          $unset: ['old'],
        },
        { event: '$create_alias', distinct_id: 'ada', properties: { alias: 'v2' } },
        {
          event: '$groupidentify',
          distinct_id: '$company_acme',
          properties: { $group_type: 'company', $group_key: 'acme', $group_set: { size: 3 } },
        },
      ],
    },
    wanted: [
      {
        event: '$identify',
        distinct_id: 'ada',
        set: { name: 'Ada' },
        set_once: { from: 'web' },
        unset: ['old'],
        merge: { other: 'v1', is_forced: false },
        properties: {
          distinct_id: 'ada',
          $anon_distinct_id: 'v1',
          $set: { name: 'Ada' },
          $set_once: { from: 'web' },
          $unset: ['old'],
        },
      },
      {
        event: '$create_alias',
        distinct_id: 'ada',
        properties: { alias: 'v2' },
        merge: { other: 'v2', is_forced: false },
      },
      { event: '$groupidentify', distinct_id: '$company_acme', merge: undefined },
    ],
  },
  {
    says: 'the other distinct id is read as those of events are',
    path: '/batch/',
    body: {
      api_key: key,
      batch: [
        {
          event: '$merge_dangerously',
          distinct_id: 'ada',
          properties: { alias: 'v'.repeat(300) },
          $unset: 'old',
        },
        { event: '$identify', distinct_id: 'ada', properties: { $anon_distinct_id: 7 } },
      ],
    },
    wanted: [
      {
        event: '$merge_dangerously',
        distinct_id: 'ada',
        merge: { other: 'v'.repeat(200), is_forced: true },
        warnings: ['set_ignored', 'distinct_id_cut'],
      },
      {
        event: '$identify',
        distinct_id: 'ada',
        merge: { other: '7', is_forced: false },
        warnings: [],
      },
    ],
  },
  {
    says: 'engage of old libraries sets properties',
    path: '/engage/',
    body: { $token: key, $distinct_id: 'ada', $set: { plan: 'pro' } },
    wanted: [{ event: '$identify', distinct_id: 'ada', set: { plan: 'pro' } }],
  },
  {
    says: 'long names are cut, events without a person or a name are refused',
    path: '/track/',
    body: {
      api_key: key,
      batch: [
        { event: 'n'.repeat(201), distinct_id: `${'d'.repeat(199)}😀z` },
        { distinct_id: 'x' },
        { event: 'a' },
        { event: 'a', distinct_id: ' ' },
        'no event',
        { event: 'a', distinct_id: { id: 1 }, uuid: 'order-7' },
        { event: 'a\0b', distinct_id: 'x\0', properties: null, $set: 'no' },
        { event: 'a', distinct_id: 'x', properties: [1] },
        { event: 'a', distinct_id: 'x', properties: { long: 'x'.repeat(2 * 1024 * 1024) } },
      ],
    },
    wanted: [
      {
        event: 'n'.repeat(200),
        distinct_id: `${'d'.repeat(199)}😀`,
        warnings: ['event_name_cut', 'distinct_id_cut'],
      },
      { refused: 'event_name_missing' },
      { refused: 'distinct_id_missing' },
      { refused: 'distinct_id_missing' },
      { refused: 'event_name_missing' },
      {
        event: 'a',
        distinct_id: '{"id":1}',
        uuid: '56477111-7643-5600-8bf3-3627ab8c463a',
        warnings: ['uuid_replaced', 'distinct_id_not_text'],
      },
      {
        event: 'a\uFFFDb',
        distinct_id: 'x\uFFFD',
        properties: {},
        warnings: ['null_characters_replaced', 'set_ignored'],
      },
      { event: 'a', distinct_id: 'x', properties: {}, warnings: ['properties_ignored'] },
      { refused: 'event_too_large' },
    ],
  },
  {
    says: 'the version with results has the key in the head, and options beside the properties',
    path: '/i/v1/analytics/events',
    headers: {
      authorization: `Bearer ${key}`,
      'posthog-request-timestamp': '2026-11-22T10:00:00Z',
      'posthog-sdk-info': 'posthog-node/5.70.0',
    },
    body: {
      created_at: '2026-11-22T10:00:00Z',
      batch: [
        {
          event: 'bought',
          uuid,
          distinct_id: 'ada',
          timestamp: '2026-11-22T10:00:00Z',
          session_id: 's1',
          options: { process_person_profile: false },
          properties: { amount: 2 },
        },
        {
          event: 'b',
          uuid,
          distinct_id: 'ada',
          timestamp: '2026-11-22T10:00:00Z',
          options: { disable_skew_correction: true },
          properties: { $lib: 'own' },
        },
      ],
    },
    wanted: [
      {
        event: 'bought',
        distinct_id: 'ada',
        timestamp: '2026-11-22 12:00:00.000000',
        properties: {
          $session_id: 's1',
          $process_person_profile: false,
          amount: 2,
          $lib: 'posthog-node',
          $lib_version: '5.70.0',
        },
        warnings: ['clock_skew_mended'],
      },
      {
        event: 'b',
        distinct_id: 'ada',
        timestamp: '2026-11-22 10:00:00.000000',
        properties: { $ignore_sent_at: true, $lib: 'posthog-node', $lib_version: '5.70.0' },
        warnings: [],
      },
    ],
  },
  {
    says: 'a library that sends texts of models may send larger events',
    path: '/i/v1/ai/events',
    headers: { authorization: `Bearer ${key}`, 'posthog-sdk-info': 'posthog' },
    body: {
      batch: [
        { event: '$ai_span', distinct_id: 'x', properties: { long: 'x'.repeat(2 * 1024 * 1024) } },
        { event: '$ai_metric', distinct_id: 'x', properties: { $lib: 'own' } },
      ],
    },
    wanted: [
      { event: '$ai_span', distinct_id: 'x', warnings: [] },
      { event: '$ai_metric', distinct_id: 'x', properties: { $lib: 'own' } },
    ],
  },
];
