import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

/** Messages of PostHog's clients that are not valid JSON, and the events that are stored anyway. */
export const posthog_mended_cases: readonly ProtocolCase[] = [
  {
    says: 'numbers that JSON has not are null, and cost the other events nothing',
    path: '/batch/',
    body: Buffer.from(
      `{"api_key":"${key}","batch":[{"event":"a","distinct_id":"x","properties":` +
        '{"n":1.0,"bad":[NaN, -Infinity],"text":"NaN"}},' +
        '{"event":"b","distinct_id":"x","properties":{"n":2.50}},' +
        '{"event":"c","distinct_id":NaN},{"event":"d","distinct_id":"x","timestamp":Infinity}]}',
    ),
    wanted: [
      {
        event: 'a',
        distinct_id: 'x',
        properties: { n: 1, bad: [null, null], text: 'NaN' },
        warnings: ['invalid_number_replaced'],
      },
      { event: 'b', distinct_id: 'x', properties: { n: 2.5 }, warnings: [] },
      { refused: 'distinct_id_missing' },
      { event: 'd', distinct_id: 'x', warnings: ['invalid_number_replaced'] },
    ],
  },
  {
    says: 'bytes that are no UTF-8 cost the other events nothing',
    path: '/e/',
    body: Buffer.from(
      `[{"event":"a","distinct_id":"x","properties":{"token":"${key}"}},` +
        '{"event":"caf\xe9","distinct_id":"x","properties":{"a":Infinity}}]',
      'latin1',
    ),
    wanted: [
      { event: 'a', distinct_id: 'x', warnings: [] },
      {
        event: 'caf\uFFFD',
        distinct_id: 'x',
        properties: { a: null },
        warnings: ['invalid_utf8_replaced', 'invalid_number_replaced'],
      },
    ],
  },
];
