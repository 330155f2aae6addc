import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

/** Messages of RudderStack's libraries, and the events that are stored for them. */
export const rudderstack_cases: readonly ProtocolCase[] = [
  {
    says: 'a call with the traits in the context, and when it happened by an early clock',
    path: '/v1/identify',
    headers: {
      authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      sentat: '2026-11-22T13:00:00.000Z',
    },
    body: {
      type: 'identify',
      userId: 'ada',
      anonymousId: 'v1',
      messageId: 'm1',
      originalTimestamp: '2026-11-22T12:59:00.000Z',
      context: { traits: { name: 'Ada' } },
    },
    wanted: [
      {
        event: '$identify',
        distinct_id: 'ada',
        set: { name: 'Ada' },
        timestamp: '2026-11-22 11:59:00.000000',
        warnings: ['clock_skew_mended'],
      },
    ],
  },
  {
    says: 'a beacon, with the key in the query',
    path: '/beacon/v1/batch',
    query: { writeKey: key },
    body: { batch: [{ type: 'track', event: 'left', anonymousId: 'v1', properties: {} }] },
    wanted: [{ event: 'left', distinct_id: 'v1', properties: { anonymousId: 'v1' } }],
  },
];
