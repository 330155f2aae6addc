import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';

const path = '/com.snowplowanalytics.snowplow/tp2';
const schema = 'iglu:com.snowplowanalytics.snowplow/payload_data/jsonschema/1-0-4';
const eid = '0190163d-8694-439b-aea5-966c26f8ad91';
const described = {
  schema: 'iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0',
  data: { schema: 'iglu:com.acme/basket_filled/jsonschema/1-0-0', data: { items: 3 } },
};
const contexts = { schema: 'iglu:x/contexts/jsonschema/1-0-0', data: [{ schema: 'p', data: {} }] };
const packed = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Messages of Snowplow's trackers, and the events that are stored for them. */
export const snowplow_cases: readonly ProtocolCase[] = [
  {
    says: 'an event of its own schema, in whose text stands a number that JSON has not',
    path: '/com.snowplowanalytics.snowplow/tp2',
    body: {
      data: [
        {
          e: 'ue',
          aid: key,
          uid: 'ada',
          ue_pr: '{"data":{"schema":"iglu:com.acme/bought/jsonschema/1-0-0","data":{"n":NaN}}}',
        },
      ],
    },
    wanted: [{ event: 'bought', distinct_id: 'ada', warnings: ['invalid_number_replaced'] }],
  },
  {
    says: 'views, described and structured events of a late clock; the key is the app id',
    path,
    body: {
      schema,
      data: [
        {
          e: 'pv',
          eid,
          aid: key,
          duid: 'd1',
          url: 'https://a.example/x',
          page: 'X',
          dtm: String(Date.parse('2026-11-22T10:59:59Z')),
          stm: String(Date.parse('2026-11-22T11:00:00Z')),
        },
        { e: 'ue', eid: 'e-2', aid: key, uid: 'ada', duid: 'd1', ue_px: packed(described) },
        { e: 'ue', aid: key, duid: 'd1', ue_pr: JSON.stringify(described), co: '{' },
        { e: 'se', aid: key, duid: 'd1', se_ca: 'shop', se_ac: 'add', cx: packed(contexts) },
        { e: 'pp', aid: key, duid: 'd1' },
        { e: 'ue', aid: key, duid: 'd1', ue_pr: '{' },
        { e: 'pv', eid, aid: key },
      ],
    },
    wanted: [
      {
        event: '$pageview',
        distinct_id: 'd1',
        uuid: eid,
        timestamp: '2026-11-22 11:59:59.000000',
        properties: {
          aid: key,
          duid: 'd1',
          url: 'https://a.example/x',
          page: 'X',
          dtm: String(Date.parse('2026-11-22T10:59:59Z')),
          $current_url: 'https://a.example/x',
          $title: 'X',
        },
      },
      {
        event: 'basket_filled',
        distinct_id: 'ada',
        properties: {
          aid: key,
          uid: 'ada',
          duid: 'd1',
          $schema: 'iglu:com.acme/basket_filled/jsonschema/1-0-0',
          items: 3,
        },
      },
      { event: 'basket_filled', distinct_id: 'd1' },
      {
        event: 'structured_event',
        distinct_id: 'd1',
        properties: {
          aid: key,
          duid: 'd1',
          se_ca: 'shop',
          se_ac: 'add',
          contexts: contexts.data,
          category: 'shop',
          action: 'add',
        },
      },
      { event: 'page_ping', distinct_id: 'd1' },
      { refused: 'event_name_missing' },
      { event: '$pageview', distinct_id: eid, warnings: ['distinct_id_made'] },
    ],
  },
  {
    says: 'the picture has the event in its query',
    method: 'GET',
    path: '/i',
    query: { e: 'se', se_ca: 'shop', se_ac: 'add', aid: key, uid: '', duid: 'd1' },
    wanted: [{ event: 'structured_event', distinct_id: 'd1' }],
  },
];
