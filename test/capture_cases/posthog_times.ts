import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

/** Times that PostHog's clients send for an event, and the time that is stored. */
export const posthog_time_cases: readonly ProtocolCase[] = [
  {
    says: 'a repeat by posthog-js says how long ago it was first sent: its own time counts',
    path: '/e/',
    query: { _: String(Date.parse('2026-11-22T12:00:00Z')) },
    body: ['$pageview', 'moved'].map((event) => ({
      event,
      offset: 1500,
      properties: {
        token: key,
        distinct_id: 'visitor',
        $time: Date.parse('2026-11-22T11:58:00.123Z') / 1000,
        ...(event === 'moved' ? { $event_time_override_provided: true } : {}),
      },
    })),
    wanted: [
      {
        event: '$pageview',
        distinct_id: 'visitor',
        timestamp: '2026-11-22 11:58:00.123000',
        warnings: [],
      },
      { event: 'moved', distinct_id: 'visitor', timestamp: '2026-11-22 11:59:58.500000' },
    ],
  },
  {
    says: 'how long ago it was counts where nobody knows what the clock of the sender is worth',
    path: '/e/',
    body: [{ event: 'a', offset: 1500, properties: { token: key, distinct_id: 'x', $time: 7 } }],
    wanted: [{ event: 'a', distinct_id: 'x', timestamp: '2026-11-22 11:59:58.500000' }],
  },
  {
    says: 'a clock that is two hours late is mended, unless the event says that it is right',
    path: '/i/v0/e/',
    body: {
      api_key: key,
      batch: [
        { event: 'a', distinct_id: 'x', timestamp: '2026-11-22T09:59:59Z' },
        {
          event: 'b',
          distinct_id: 'x',
          timestamp: '2026-11-22T09:59:59Z',
          properties: { $ignore_sent_at: true },
        },
      ],
      sent_at: '2026-11-22T10:00:00Z',
    },
    wanted: [
      {
        event: 'a',
        distinct_id: 'x',
        timestamp: '2026-11-22 11:59:59.000000',
        warnings: ['clock_skew_mended'],
      },
      { event: 'b', distinct_id: 'x', timestamp: '2026-11-22 09:59:59.000000', warnings: [] },
    ],
  },
  {
    says: 'posthog-python says in another word when it sent',
    path: '/batch/',
    body: {
      api_key: key,
      batch: [{ event: 'a', distinct_id: 'x', timestamp: '2026-11-22T09:59:59+00:00' }],
      sentAt: '2026-11-22T10:00:00.000001+00:00',
    },
    wanted: [{ event: 'a', distinct_id: 'x', warnings: ['clock_skew_mended'] }],
  },
  {
    says: 'times that cannot be are put to now, a future one of a time zone is not',
    path: '/capture/',
    body: {
      api_key: key,
      batch: [
        { event: 'a', distinct_id: 'x', timestamp: 'yesterday' },
        { event: 'b', distinct_id: 'x', timestamp: '2026-11-23T11:00:01Z' },
        { event: 'c', distinct_id: 'x', timestamp: '2026-11-23T10:59:59Z' },
        { event: 'd', distinct_id: 'x', timestamp: '2026-11-22T10:00:00' },
        { event: 'e', distinct_id: 'x', timestamp: '1066-10-14T09:00:00Z' },
        { event: 'f', distinct_id: 'x', timestamp: 0 },
      ],
    },
    wanted: [
      {
        event: 'a',
        distinct_id: 'x',
        timestamp: '2026-11-22 12:00:00.000000',
        warnings: ['timestamp_ignored'],
      },
      {
        event: 'b',
        distinct_id: 'x',
        timestamp: '2026-11-22 12:00:00.000000',
        warnings: ['timestamp_clamped'],
      },
      { event: 'c', distinct_id: 'x', timestamp: '2026-11-23 10:59:59.000000', warnings: [] },
      { event: 'd', distinct_id: 'x', timestamp: '2026-11-22 10:00:00.000000', warnings: [] },
      { event: 'e', distinct_id: 'x', warnings: ['timestamp_ignored'] },
      {
        event: 'f',
        distinct_id: 'x',
        timestamp: '1970-01-01 00:00:00.000000',
        warnings: ['timestamp_of_1970'],
      },
    ],
  },
];
