import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { storedEvents } from '../../../test/factories/events/stored_events.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Sent, TestOrganization } from '../../../test/harness.ts';
import { capture_size_bytes_max } from './read/unpack.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
  },
});
let home: TestOrganization;

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  harness.request('POST', path, { body, headers } satisfies Sent);
const batchOf = (...names: string[]) => ({
  api_key: home.project.api_token,
  batch: names.map((event) => ({ event, distinct_id: 'ada', uuid: randomUUID() })),
});
const storedNames = async (prefix: string) =>
  (await storedEvents(harness.deps, home.project.id))
    .map(({ event }) => event)
    .filter((name) => name.startsWith(prefix))
    .sort();

test('200 means stored; the same uuid is stored once, whichever way it comes', async () => {
  const body = batchOf('once a', 'once b');
  for (const path of ['/batch/', '/batch', '/e/', '/i/v0/e'])
    assert.deepEqual((await post(path, body)).body, { status: 1 });
  assert.deepEqual(await storedNames('once'), ['once a', 'once b']);
});

test('a repeated event without an id is stored once, two different ones twice', async () => {
  const at = (time: string) => ({ event: 'no id', distinct_id: 'ada', timestamp: time });
  const fine = at('2026-11-22T12:00:00.123Z');
  const whole = at('2026-11-22T12:00:00Z');
  const person = { ...whole, event: '$identify', properties: { $anon_distinct_id: 'no id' } };
  const untimed = { event: 'no id', distinct_id: 'ada' };
  const later = at('2026-11-22T12:00:00.124Z');
  const cases: [object[], number][] = [
    [[fine, later], 2],
    [[fine, fine], 2],
    [[person], 1],
    [[whole], 2],
    [[untimed], 2],
  ];
  for (const [batch, wanted] of cases) {
    const { project } = await harness.newOrganization();
    const body = { api_key: project.api_token, batch };
    for (let sent = 0; sent < 2; sent += 1) assert.equal((await post('/batch/', body)).status, 200);
    const stored = await storedEvents(harness.deps, project.id);
    assert.equal(stored.length, wanted, JSON.stringify(batch));
  }
});

test('the bytes of a body decide its kind, whatever the head says', async () => {
  const text = (name: string) => Buffer.from(JSON.stringify(batchOf(`packed ${name}`)));
  const form = (bytes: Buffer) =>
    Buffer.from(`data=${encodeURIComponent(bytes.toString('base64'))}&compression=base64`);
  // As libraries of some years ago write it: each half of a character by itself.
  const inHalves = (name: string) => {
    const halves = /[\ud800-\udfff]/g;
    const raw = JSON.stringify(batchOf('packed ')).replace('packed ', () => `packed ${name}`);
    const bytes = (letter: string) => {
      const code = letter.charCodeAt(0);
      return String.fromCharCode(0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    };
    return Buffer.from(raw.replace(halves, bytes), 'latin1');
  };
  const plain = { 'content-type': 'text/plain' };
  const sent: [string, Buffer, Record<string, string>][] = [
    ['gzip', gzipSync(text('gzip')), plain],
    ['gzip said', gzipSync(text('gzip said')), { 'content-encoding': 'gzip' }],
    ['gzip wrongly said', text('gzip wrongly said'), { 'content-encoding': 'gzip' }],
    ['deflate', deflateSync(text('deflate')), plain],
    ['raw', deflateRawSync(text('raw')), { 'content-encoding': 'deflate' }],
    ['br', brotliCompressSync(text('br')), { 'content-encoding': 'br' }],
    ['zstd', zstdCompressSync(text('zstd')), plain],
    ['form', form(text('form')), { 'content-type': 'application/x-www-form-urlencoded' }],
    ['form of gzip', form(gzipSync(text('form of gzip'))), plain],
    ['form unescaped', Buffer.from(`data=${text('form unescaped').toString('base64')}`), plain],
    ['base64', Buffer.from(text('base64').toString('base64')), plain],
    ['halves 😀 �', Buffer.from(inHalves('halves 😀 \ud83d').toString('base64')), plain],
    ['mark', Buffer.concat([Buffer.from('\uFEFF'), text('mark')]), {}],
    ['no type', text('no type'), { 'content-type': '' }],
    ['lines', text('lines'), { 'content-type': 'application/x-ndjson' }],
  ];
  for (const [name, bytes, headers] of sent) {
    const answer = await post('/e/?compression=gzip-js', bytes, headers);
    assert.equal(answer.status, 200, `${name}: ${answer.text}`);
  }
  const wanted = sent.map(([name]) => `packed ${name}`).sort();
  assert.deepEqual(await storedNames('packed'), wanted);
});

test('bombs, broken data and what is packed too often are refused', async () => {
  const bomb = Buffer.alloc(capture_size_bytes_max + 1, ' ');
  const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  // Those of the other ways to pack, and one that is not packed, are among the hostile bodies.
  for (const [bytes, encoding] of [
    [gzipSync(bomb), 'identity'],
    [brotliCompressSync(bomb, quickly), 'br'],
  ] as const)
    assert.equal((await post('/batch/', bytes, { 'content-encoding': encoding })).status, 413);
  const cut = gzipSync(JSON.stringify(batchOf('cut'))).subarray(0, 40);
  assert.equal((await post('/batch/', cut)).status, 400);
  let often = Buffer.from('{}');
  for (let layer = 0; layer < 6; layer += 1) often = gzipSync(often);
  assert.match((await post('/batch/', often)).body.detail, /too many times/);
  const form = Buffer.from(`data=${'A'.repeat(1024 * 1024)}`);
  assert.equal((await post('/e/', form)).status, 413);
});

test('a body packed with lz64 is refused with advice', async () => {
  // A list of one event, by the library that old clients have.
  const packed = 'NobwRApgbhB2AuYBcYCGYA0YAmBLAzvLrAMbwD6u2ya26AvgLpA=';
  const named = Buffer.from(`data=${encodeURIComponent(packed)}&compression=lz64`);
  const plain = Buffer.from(`data=${encodeURIComponent(packed)}`);
  for (const [path, body] of [
    ['/e/', named],
    ['/e/?compression=lz64', plain],
    ['/e/?compression=lz64', Buffer.from(packed)],
  ] as const) {
    const { status, body: refused } = await post(path, body);
    assert.equal(status, 400);
    assert.match(refused.detail, /lz64.*take a newer posthog-js.*disable_compression/);
  }
  assert.doesNotMatch((await post('/e/', plain)).body.detail, /lz64/);
  const readable = JSON.stringify(batchOf('not lz64'));
  assert.equal((await post('/e/?compression=lz64', readable)).status, 200);
});

test('a long body is read beside the loop, with every number as it was sent', async () => {
  const events = Array.from({ length: 1_200 }, (_, at) => ({
    event: `long ${String(at).padStart(4, '0')}`,
    distinct_id: 'ada',
    properties: { text: 'x'.repeat(400) },
  }));
  const text = JSON.stringify({ api_key: home.project.api_token, batch: events });
  const numbers =
    '{"event":"long z","distinct_id":"num","properties":' +
    '{"n":1.0,"$set":{"big":12345678901234567890,"n":1.50}}}]}';
  const body = `${text.slice(0, -2)},${numbers}`;
  assert.equal((await post('/batch/', gzipSync(body))).status, 200);
  assert.equal((await storedNames('long')).length, 1_201);
  const stored = await storedEvents(harness.deps, home.project.id);
  const { properties, person_properties } = stored.find(({ event }) => event === 'long z')!;
  assert.match(properties, /"n":1\.0,/);
  assert.equal(person_properties, '{"big":12345678901234567890,"n":1.50}');
});

test('bad events do not keep the others; when all are bad it is 400 and says why', async () => {
  const body = batchOf('half good');
  (body.batch as object[]).push({ event: 'half bad' });
  assert.equal((await post('/batch/', body)).status, 200);
  assert.deepEqual(await storedNames('half'), ['half good']);
  const bad = await post('/batch/', { ...body, batch: [{ event: 'half bad' }] });
  assert.deepEqual([bad.status, bad.body.attr], [400, 'events__0']);
  assert.match(bad.body.detail, /has no person/);
  assert.deepEqual((await post('/batch/', { ...body, batch: [] })).status, 200);
  const { values } = await harness.deps.metrics.ingestion_warnings.get();
  const missing = values.find(({ labels }) => labels.reason === 'distinct_id_missing');
  assert.deepEqual([missing?.labels.protocol, missing?.value], ['posthog', 2]);
});

test('the version with results tells what became of each uuid', async () => {
  const [good, late, bad] = [randomUUID(), randomUUID(), randomUUID()];
  const headers = {
    authorization: `Bearer ${home.project.api_token}`,
    'posthog-request-id': 'r-1',
  };
  const answer = await post(
    '/i/v1/analytics/events',
    {
      created_at: new Date().toISOString(),
      batch: [
        { event: 'v1 a', uuid: good, distinct_id: 'x', options: {}, properties: {} },
        { event: 'v1 b', uuid: late, distinct_id: 'x', timestamp: 'no', properties: {} },
        { event: 'v1 c', uuid: bad, options: {}, properties: {} },
      ],
    },
    headers,
  );
  assert.equal(answer.headers['posthog-request-id'], 'r-1');
  assert.deepEqual(answer.body, {
    results: {
      [good]: { result: 'ok' },
      [late]: { result: 'warning', details: 'timestamp_ignored' },
      [bad]: { result: 'drop', details: 'distinct_id_missing' },
    },
  });
  assert.deepEqual(await storedNames('v1'), ['v1 a', 'v1 b']);
  const refused = await post('/i/v1/analytics/events', { batch: [] });
  assert.equal(refused.status, 401);
  assert.deepEqual(Object.keys(refused.body), ['error', 'error_description', 'error_uri']);
});

test('keys: a rotated one works for its overlap, others are 401 with a sentence', async () => {
  const list = `/api/projects/${home.project.id}/write_keys/`;
  const { body: created } = await home.ask('POST', list, { name: 'W' });
  const sendBy = (api_key: string) => post('/e/', { ...batchOf('key'), api_key });
  assert.equal((await sendBy(created.value)).status, 200);
  const rolled = await home.ask('POST', `${list}${created.id}/roll/`, {});
  for (const value of [created.value, rolled.body.value])
    assert.equal((await sendBy(value)).status, 200);
  await home.ask('DELETE', `${list}${created.id}/`);
  const revoked = await sendBy(created.value);
  assert.equal(revoked.status, 401);
  assert.match(revoked.body.detail, /unknown, expired or revoked/);
  const personal = await sendBy(home.key);
  assert.deepEqual([personal.status, personal.body.code], [401, 'authentication_failed']);
  assert.match(personal.body.detail, /personal API key \(slk_\.\.\.\), which must never/);
  const { body: used } = await home.ask('GET', `${list}${rolled.body.id}/`);
  assert.notEqual(used.last_used_at, undefined);
});
