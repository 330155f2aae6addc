import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

/** Messages of Jitsu's library, and the events that are stored for them. */
export const jitsu_cases: readonly ProtocolCase[] = [
  {
    says: 'a call of a page, whose key has a secret behind it that says nothing',
    path: '/api/s/track',
    headers: { 'x-write-key': `${key}:public` },
    body: {
      writeKey: `${key}:***`,
      type: 'track',
      event: 'bought',
      anonymousId: 'v1',
      messageId: 'm',
      properties: { a: 1 },
    },
    wanted: [
      { event: 'bought', distinct_id: 'v1', properties: { anonymousId: 'v1', a: 1 }, warnings: [] },
    ],
  },
  {
    says: 'a call of a server',
    path: '/api/s/s2s/page',
    headers: { 'x-write-key': key },
    body: { type: 'page', userId: 'ada', context: { page: { url: 'https://a.example' } } },
    wanted: [
      {
        event: '$pageview',
        distinct_id: 'ada',
        properties: {
          context: { page: { url: 'https://a.example' } },
          userId: 'ada',
          $current_url: 'https://a.example',
        },
      },
    ],
  },
];
