import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchThread } from '../../../../test/processor_time.ts';
import { case_key as key, case_now } from '../../../../test/capture_cases/protocol_case.ts';
import { records } from '../../../../test/capture_cases/hostile_bodies.ts';
import type { Sent } from '../protocol.ts';
import { readMessage } from './aside.ts';
import { openMessage } from './message.ts';

const now = '2026-11-22 12:00:00.000000';

const sentTo = (path: string, query: Record<string, string> = {}): Sent => ({
  method: 'POST',
  path,
  query,
  headers: {},
  sender: { user_agent: undefined, address: '127.0.0.1' },
  received_ms: Date.parse(case_now),
});

function open(body: string, query: Record<string, string> = {}, path = '/batch/') {
  return openMessage(Buffer.from(body), sentTo(path, query));
}

/** Reads the events, each of which has a name and a person. */
function read(fields: string[], path?: string) {
  const events = fields.map((one) => `{"event":"a","distinct_id":"ada","userId":"ada",${one}}`);
  const owner = path === undefined ? 'api_key' : 'writeKey';
  return [...open(`{"${owner}":"${key}","batch":[${events.join()}]}`, {}, path).read()].map(
    ({ read: { event }, warnings, told }) => ({ event, warnings, sent: told?.sent }),
  );
}

test('a property named token is no key if the request has one elsewhere', () => {
  const event = { event: 'a', distinct_id: 'ada', properties: { token: 'reset-1' } };
  const keyed = { ...event, properties: { token: key } };
  const bodies: [unknown, Record<string, string>][] = [
    [{ api_key: key, batch: [event] }, {}],
    [{ ...event, api_key: key }, {}],
    [[event], { token: key }],
    [[keyed, event], {}],
  ];
  for (const [body, query] of bodies) assert.equal(open(JSON.stringify(body), query).key, key);
  assert.throws(() => open(JSON.stringify([event])), /unknown/);
  const other = { ...event, properties: { token: `slp_${'B'.repeat(43)}` } };
  assert.throws(() => open(JSON.stringify({ api_key: key, batch: [other] })), /same write key/);
});

/** The time of each and the warnings; an event that brought none comes microseconds after now. */
function timesOf(seen: ReturnType<typeof read>) {
  const timeOf = (timestamp: string) => (timestamp.startsWith(now.slice(0, -3)) ? now : timestamp);
  return seen.map(({ event, warnings }) => [timeOf(event!.timestamp), ...warnings]);
}

test('times keep what they say, also without a zone and as a number of any notation', () => {
  const given = ['"2024-05-01T10:00:00.123456"', '1714557600.0', '"order 5"', '"2020-02-30"', '-1'];
  const seen = read(given.map((at) => `"timestamp":${at}`));
  assert.deepEqual(timesOf(seen), [
    ['2024-05-01 10:00:00.123456'],
    ['2024-05-01 10:00:00.000000'],
    [now, 'timestamp_ignored'],
    [now, 'timestamp_ignored'],
    [now, 'timestamp_ignored'],
  ]);
});

test('an offset is a time like others', () => {
  const seen = read(['1500.0', '-900000000000', '"1500"'].map((ago) => `"offset":${ago}`));
  assert.deepEqual(timesOf(seen), [
    ['2026-11-22 11:59:58.500000'],
    [now, 'timestamp_clamped'],
    [now, 'timestamp_ignored'],
  ]);
});

test('an id that is no text names its event each time', () => {
  const [first] = read(['"uuid":12345']);
  const [again] = read(['"uuid":12345']);
  assert.deepEqual(first!.warnings, ['uuid_replaced']);
  assert.equal(first!.event!.uuid, again!.event!.uuid);
  const [call] = read(['"type":"track","messageId":17'], '/v1/batch');
  assert.equal(
    call!.event!.uuid,
    read(['"type":"track","messageId":17'], '/v1/batch')[0]!.event!.uuid,
  );
  assert.deepEqual(call!.warnings, []);
});

test('the example of what was not set has it', () => {
  const seen = read(['"$set":"x"', '"properties":{"$set":null},"$set":[1]', '"$unset":"y"']);
  assert.deepEqual(
    seen.map(({ sent }) => sent),
    [{ set_ignored: 'x' }, { set_ignored: 'a list' }, { set_ignored: 'y' }],
  );
});

test('an event of which two fields are wrong in one way counts once', () => {
  const long = 'l'.repeat(201);
  const seen = read([
    '"$set":"x","$set_once":[1],"$unset":"y"',
    `"event":"$create_alias","distinct_id":"${long}","properties":{"alias":"m${long}"}`,
  ]);
  assert.deepEqual(
    seen.map(({ warnings }) => warnings),
    [['set_ignored'], ['distinct_id_cut']],
  );
});

test('others have their turns while the many events of a short message are read', async () => {
  // Each of the four thousand has what their resource says: 80 MB of a body of 32 KB.
  const resource = { attributes: [{ key: 'k', value: { stringValue: 'x'.repeat(20_000) } }] };
  const logRecords = Array.from({ length: 4_000 }, () => ({}));
  const body = { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] };
  const message = await readMessage(
    Buffer.from(JSON.stringify(body)),
    sentTo('/v1/logs/', { token: key }),
  );
  const watched = watchThread();
  let bytes = 0;
  for await (const reads of message.read())
    for (const { read } of reads) bytes += read.event!.bytes;
  const { turn_ms } = watched();
  assert.ok(bytes > 80_000_000);
  assert.ok(turn_ms < 200, `A turn of the event loop took ${turn_ms} ms of processor.`);
});

test('a dense protobuf body is read beside the event loop', async () => {
  const sent = sentTo('/v1/logs/', { token: key });
  sent.headers.content_type = 'application/x-protobuf';
  for (const [count, is_aside] of [
    [1, false],
    [30_000, true],
  ] as const) {
    const bytes = records(1, count);
    const message = await readMessage(bytes, sent);
    assert.equal(message.length, count);
    assert.equal(bytes.length === 0, is_aside, 'the thread takes the bytes');
    message.drop();
  }
});
