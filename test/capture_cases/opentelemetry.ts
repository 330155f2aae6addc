import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase } from './protocol_case.ts';
import { span_cases } from './opentelemetry_spans.ts';

const headers = { authorization: `Bearer ${key}` };
const text = (name: string, stringValue: string) => ({ key: name, value: { stringValue } });

/** Messages of OpenTelemetry's exporters in JSON, and the events that are stored for them. */
export const opentelemetry_cases: readonly ProtocolCase[] = [
  {
    says: 'records of one resource: with a name, without one, without anybody',
    path: '/v1/logs',
    headers,
    body: {
      resourceLogs: [
        {
          resource: { attributes: [text('service.name', 'shop')] },
          scopeLogs: [
            {
              scope: { name: 'cart', version: '1' },
              logRecords: [
                {
                  timeUnixNano: '1795348799123456789',
                  eventName: 'basket.filled',
                  severityNumber: 9,
                  severityText: 'INFO',
                  body: { stringValue: 'filled' },
                  traceId: '0af7651916cd43dd8448eb211c80319c',
                  attributes: [
                    text('user.id', 'ada'),
                    { key: 'items', value: { intValue: '3' } },
                    { key: 'large', value: { intValue: '9007199254740993' } },
                    {
                      key: 'list',
                      value: {
                        arrayValue: { values: [{ boolValue: true }, { doubleValue: 0.5 }] },
                      },
                    },
                    { key: 'map', value: { kvlistValue: { values: [text('a', 'b')] } } },
                  ],
                },
                { observedTimeUnixNano: '1795348799000000000', body: { stringValue: 'x' } },
              ],
            },
          ],
        },
        {
          scopeLogs: [
            { logRecords: [{ attributes: [text('event.name', 'e'), text('event.id', 'id-1')] }] },
          ],
        },
      ],
    },
    wanted: [
      {
        event: 'basket.filled',
        distinct_id: 'ada',
        timestamp: '2026-11-22 11:59:59.123456',
        properties: {
          'user.id': 'ada',
          items: 3,
          large: '9007199254740993',
          list: [true, 0.5],
          map: { a: 'b' },
          body: 'filled',
          severity_number: 9,
          severity_text: 'INFO',
          trace_id: '0af7651916cd43dd8448eb211c80319c',
          resource: { 'service.name': 'shop' },
          scope: { name: 'cart', version: '1' },
        },
      },
      { event: 'log', distinct_id: 'shop', timestamp: '2026-11-22 11:59:59.000000' },
      {
        event: 'e',
        distinct_id: 'f89da1e4-1ab1-5442-9036-40c62368db1e',
        warnings: ['distinct_id_made'],
      },
    ],
  },
  {
    says: 'a value that is no record is refused, and the others are stored',
    path: '/v1/logs',
    headers,
    body: {
      resourceLogs: [
        { scopeLogs: [{ logRecords: ['x', { attributes: [text('user.id', 'ada')] }, null] }] },
      ],
    },
    wanted: [
      { refused: 'event_name_missing' },
      { event: 'log', distinct_id: 'ada', warnings: [] },
      { refused: 'event_name_missing' },
    ],
  },
  ...span_cases,
];
