import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PlainEvent } from '../../engine/ingest/parse/event.ts';
import { warning_reasons } from '../../engine/ingest/warnings/warning.ts';
import { ApiError } from '../../platform/http/errors.ts';
import { jitsu_cases } from '../../../test/capture_cases/jitsu.ts';
import { openMessage } from './read/message.ts';
import { opentelemetry_cases } from '../../../test/capture_cases/opentelemetry.ts';
import { posthog_cases } from '../../../test/capture_cases/posthog.ts';
import { posthog_mended_cases } from '../../../test/capture_cases/posthog_mended.ts';
import { posthog_time_cases } from '../../../test/capture_cases/posthog_times.ts';
import { case_key, case_now } from '../../../test/capture_cases/protocol_case.ts';
import type { ProtocolCase, WantedEvent } from '../../../test/capture_cases/protocol_case.ts';
import { protocols } from './protocols.ts';
import type { Read } from './read/read_draft.ts';
import { rudderstack_cases } from '../../../test/capture_cases/rudderstack.ts';
import { segment_cases } from '../../../test/capture_cases/segment.ts';
import { snowplow_cases } from '../../../test/capture_cases/snowplow.ts';
import { dataOf } from './read/unpack.ts';

const tables = {
  posthog: [...posthog_cases, ...posthog_mended_cases, ...posthog_time_cases],
  segment: segment_cases,
  rudderstack: rudderstack_cases,
  jitsu: jitsu_cases,
  snowplow: snowplow_cases,
  opentelemetry: opentelemetry_cases,
};

function open({ method = 'POST', path, query = {}, headers = {}, body }: Partial<ProtocolCase>) {
  const { authorization, 'x-write-key': write_key } = headers;
  return openMessage(
    body === undefined
      ? dataOf(query['data'] ?? '')
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(JSON.stringify(body)),
    {
      method,
      path: path ?? '/e/',
      query,
      headers: {
        authorization,
        write_key,
        content_type: 'application/json',
        sent_at: headers['posthog-request-timestamp'] ?? headers['sentat'],
        sdk_info: headers['posthog-sdk-info'],
      },
      sender: { user_agent: undefined, address: '127.0.0.1' },
      received_ms: Date.parse(case_now),
    },
  );
}

const now = '2026-11-22 12:00:00.000000';

/** The fields of what was read that the case looks at. */
function seen({ read, warnings }: Read<PlainEvent>, wanted: object): object {
  if (read.event === undefined) return { refused: warnings.at(-1) };
  const { properties, ...event } = read.event;
  // Microseconds keep the order of events that bring no time.
  if (event.timestamp.startsWith(now.slice(0, -3))) event.timestamp = now;
  const all: Record<string, unknown> = { ...event, properties: JSON.parse(properties), warnings };
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, all[name]]));
}

for (const [protocol, cases] of Object.entries(tables))
  for (const one of cases)
    test(`${protocol}: ${one.says}`, () => {
      const message = open(one);
      assert.equal(message.key, case_key);
      const reads = [...message.read()];
      assert.equal(message.length, reads.length);
      assert.deepEqual(
        reads.map((read, at) => seen(read, one.wanted[at] ?? {})),
        one.wanted as WantedEvent[],
      );
    });

const event = { event: 'a', distinct_id: 'x' };
const refusals: [string, Partial<ProtocolCase>, number, RegExp][] = [
  ['no key', { body: event }, 401, /write key \(slp_/],
  ['a personal key', { body: { ...event, api_key: `slk_${'1'.repeat(49)}` } }, 401, /personal/],
  ['another text', { body: { ...event, api_key: 'phc_x' } }, 401, /unknown/],
  [
    'two keys',
    {
      body: [
        { ...event, token: case_key },
        { ...event, token: `slp_${'B'.repeat(43)}` },
      ],
    },
    400,
    /same write key/,
  ],
  ['no JSON', { query: { data: '{' } }, 400, /not valid JSON: line 1, column 2/],
  ['no object', { query: { data: '"x"' } }, 400, /object or a list/],
  ['a batch that is none', { body: { batch: 1, api_key: case_key } }, 400, /docs\/sdks/],
  ['no call', { path: '/v1/batch', body: { writeKey: case_key } }, 400, /docs\/sdks/],
  [
    'a context that the calls of a batch would multiply',
    {
      path: '/v1/batch',
      body: {
        writeKey: case_key,
        context: { app: 'x'.repeat(1_000_000) },
        batch: Array.from({ length: 300 }, () => ({ type: 'track', event: 'e', userId: 'u' })),
      },
    },
    400,
    /more than 256 MiB/,
  ],
  ['no payload', { path: '/com.snowplowanalytics.snowplow/tp2', body: {} }, 400, /docs\/sdks/],
  ['no logs', { path: '/v1/logs', body: [] }, 400, /docs\/sdks/],
  ['traces for logs', { path: '/v1/logs', body: { resourceSpans: [] } }, 400, /docs\/sdks/],
  ['deep lists', { query: { data: '['.repeat(1_000_000) } }, 400, /JSON|deep/],
];
for (const [says, request, status, detail] of refusals)
  test(`refused as a whole: ${says}`, () => {
    assert.throws(
      () => open(request),
      (error) => error instanceof ApiError && error.status === status && detail.test(error.message),
    );
  });

const pageOf = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');

test('docs name every path', () => {
  const page = pageOf('sdk_reference.md');
  const spelled = (path: string) =>
    path
      .replace(/^(\/v1\/pixel|\/v1|\/api\/s|\/api\/s\/s2s|\/api\/px)\/[a-z]{4,}\/$/, '$1/type/')
      .replace(/^\/v1\/[tpsiga]\/$/, '/v1/t/');
  const unnamed = protocols.flatMap(({ match, settings }) =>
    [...match, ...settings]
      .flatMap(({ paths }) => paths)
      .filter((path) => ![path, spelled(path)].some((one) => page.includes(`\`${one}\``))),
  );
  assert.deepEqual(unnamed, []);
});

test('every protocol has a table of cases, and docs name every reason', () => {
  assert.deepEqual(
    Object.keys(tables),
    protocols.map(({ name }) => name),
  );
  const page = pageOf('ingestion_warnings.md');
  const unnamed = Object.keys(warning_reasons).filter(
    (reason) => !page.includes(`| \`${reason}\` |`),
  );
  assert.deepEqual(unnamed, []);
});
