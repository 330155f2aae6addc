import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
  },
});
let home: TestOrganization;

const lines = { 'content-type': 'application/x-ndjson' };
const packed = { 'content-encoding': 'gzip' };
const pathOf = (owner: TestOrganization) => `/api/projects/${owner.project.id}/events/`;
const post = (body: unknown, headers: Record<string, string> = {}, query = '') =>
  home.ask('POST', `${pathOf(home)}${query}`, body, headers);
const nothing = { taken: 0, duplicates: 0, refused: 0, dropped: 0, rejected: 0, errors: [] };

async function rows<Row>(owner: TestOrganization, where = ''): Promise<Row[]> {
  return harness.deps.clickhouse.rows<Row>({
    query: `SELECT * FROM events WHERE team_id = {team_id:Int64} ${where} ORDER BY event`,
    query_params: { team_id: owner.project.id },
  });
}

test('a list, a single event and lines are stored as they were sent', async () => {
  const owner = await harness.newOrganization();
  const uuid = randomUUID();
  const to = (body: unknown, headers = {}) => owner.ask('POST', pathOf(owner), body, headers);
  const timestamp = '2024-05-01T12:00:00.123456+02:00';
  assert.deepEqual(
    (
      await to({
        events: [
          {
            event: 'a',
            distinct_id: 'd',
            timestamp,
            uuid,
            properties: { x: 1 },
            $set: { name: 'N' },
          },
        ],
      })
    ).body,
    {
      ...nothing,
      taken: 1,
    },
  );
  assert.deepEqual((await to({ event: 'b', distinct_id: 'd' })).body, { ...nothing, taken: 1 });
  assert.deepEqual(
    (
      await to(
        '{"event":"c","distinct_id":"d","properties":{"n":12345678901234567890}}\n\n' +
          '{"event":"d","distinct_id":"d"}',
        lines,
      )
    ).body,
    {
      ...nothing,
      taken: 2,
    },
  );
  assert.deepEqual((await to({ events: [{ event: 'again', distinct_id: 'd', uuid }] })).body, {
    ...nothing,
    duplicates: 1,
  });
  const stored = await rows<Record<string, unknown>>(owner);
  assert.deepEqual(
    stored.map((row) => row['event']),
    ['a', 'b', 'c', 'd'],
  );
  const { person_id, created_at, inserted_at, ...first } = stored[0]!;
  assert.deepEqual(first, {
    team_id: owner.project.id,
    uuid,
    event: 'a',
    distinct_id: 'd',
    properties: '{"x":1,"$set":{"name":"N"}}',
    person_properties: '{"name":"N"}',
    elements_chain: '',
    timestamp: '2024-05-01T10:00:00.123456Z',
  });
  assert.equal(created_at, inserted_at);
  assert.equal(stored[1]!['person_id'], person_id);
  assert.equal(stored[2]!['properties'], '{"n":12345678901234567890}');
});

test('gzip is unpacked in both forms, broken gzip is a clear 400', async () => {
  const event = JSON.stringify({ event: 'packed', distinct_id: 'd' });
  assert.equal((await post(gzipSync(`${event}\n${event}`), { ...lines, ...packed })).body.taken, 2);
  assert.equal((await post(gzipSync(`{"events":[${event}]}`), packed)).body.taken, 1);
  for (const headers of [{ ...lines, ...packed }, packed]) {
    for (const bytes of [
      gzipSync(`${event}\n`.repeat(5_000)).subarray(0, 60),
      Buffer.from('not gzip at all'),
    ]) {
      const answer = await post(bytes, headers);
      assert.deepEqual([answer.status, answer.body.code], [400, 'parse_error']);
      assert.match(answer.body.detail, /gzip/);
    }
  }
  assert.deepEqual(
    [
      (await post('x', { ...lines, 'content-encoding': 'br' })).status,
      (await post('{}', { 'content-encoding': 'br' })).status,
    ],
    [415, 415],
  );
});

test('bad events are named, the others stored; all bad is a 400 with every violation', async () => {
  const mixed = await post(
    '{"event":"ok","distinct_id":"d"}\nnope\n{"event":"","distinct_id":1}\n',
    lines,
  );
  assert.deepEqual([mixed.status, mixed.body.taken, mixed.body.rejected], [200, 1, 2]);
  assert.deepEqual(
    mixed.body.errors.map((error: { line: number; attr: string; code: string }) => [
      error.line,
      error.attr,
      error.code,
    ]),
    [
      [2, 'lines__2', 'parse_error'],
      [3, 'lines__3__event', 'blank'],
      [3, 'lines__3__distinct_id', 'invalid_input'],
    ],
  );
  const list = await post({
    events: [
      { event: 'ok', distinct_id: 'd' },
      7,
      { event: 'e', distinct_id: 'd', timestamp: 'yesterday' },
    ],
  });
  assert.deepEqual(
    list.body.errors.map((error: { line: null; attr: string }) => [error.line, error.attr]),
    [
      [null, 'events__1'],
      [null, 'events__2__timestamp'],
    ],
  );
  const bad = await post({ events: [{ event: 'e', distinct_id: 'd', uuid: 'x' }, {}] });
  assert.deepEqual(
    [bad.status, bad.body.type, bad.body.attr],
    [400, 'validation_error', 'events__0__uuid'],
  );
  assert.deepEqual(
    bad.body.errors.map((error: { attr: string }) => error.attr),
    ['events__0__uuid', 'events__1__event', 'events__1__distinct_id'],
  );
  const many = await post(`${'nope\n'.repeat(1_500)}{"event":"ok","distinct_id":"d"}`, lines);
  assert.deepEqual(
    [many.body.taken, many.body.rejected, many.body.errors.length],
    [1, 1_500, 1_000],
  );
});

test('wrong bodies are told from each other', async () => {
  const cases: [unknown, Record<string, string>, number, string, string | null][] = [
    ['{', {}, 400, 'parse_error', null],
    [Buffer.from([0xff]), {}, 400, 'parse_error', null],
    ['[]', {}, 400, 'invalid_input', null],
    ['{}', {}, 400, 'required', 'events'],
    ['{"events":null}', {}, 400, 'null', 'events'],
    ['{"events":{}}', {}, 400, 'not_a_list', 'events'],
    ['{"event":1}', {}, 400, 'invalid_input', 'event'],
    [
      'a=b',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
      null,
    ],
    [gzipSync(Buffer.alloc(21 * 1024 * 1024, ' ')), packed, 413, 'request_too_large', null],
  ];
  for (const [body, headers, status, code, attr] of cases) {
    const answer = await post(body, headers);
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.attr],
      [status, code, attr],
      String(body).slice(0, 40),
    );
  }
  assert.equal((await home.ask('POST', pathOf(home))).status, 400);
  assert.deepEqual((await post({ events: [] })).body, nothing);
  assert.deepEqual((await post('', lines)).body, nothing);
});

test('the key needs event:write, and only members reach the project', async () => {
  const one = { events: [{ event: 'e', distinct_id: 'd' }] };
  const to = async (key: string | undefined, path = pathOf(home)) =>
    (await harness.request('POST', path, { body: one, ...(key === undefined ? {} : { key }) }))
      .status;
  const stranger = await harness.newOrganization();
  assert.equal(await to(undefined), 401);
  assert.equal(await to(await harness.newKey(home.user, { scopes: ['batch_export:write'] })), 403);
  assert.equal(await to(await harness.newKey(home.user, { scopes: ['event:write'] })), 200);
  assert.equal(await to(stranger.key), 404);
  assert.equal(await to(home.key, '/api/projects/999999999/events/'), 404);
  assert.equal(await to(home.key, '/api/projects/@current/events/'), 200);
  const member = await harness.newMember(home.organization.id, 1);
  assert.equal(await to(member.key), 200);
});

test('validate_only stores nothing; an Idempotency-Key replays JSON and not lines', async () => {
  const owner = await harness.newOrganization();
  const to = (body: unknown, headers: Record<string, string> = {}, query = '') =>
    owner.ask('POST', `${pathOf(owner)}${query}`, body, headers);
  const body = { events: [{ event: 'e', distinct_id: 'd' }, {}] };
  const checked = await to(body, {}, '?validate_only=true');
  assert.deepEqual([checked.status, checked.body.taken, checked.body.rejected], [200, 1, 1]);
  assert.deepEqual(await rows(owner), []);
  const key = { 'idempotency-key': randomUUID() };
  assert.equal((await to(body, key)).body.taken, 1);
  assert.equal((await to(body, key)).headers['idempotent-replayed'], 'true');
  assert.equal((await rows(owner)).length, 1);
  const line = '{"event":"e","distinct_id":"d"}';
  const other = { ...lines, 'idempotency-key': randomUUID() };
  assert.equal((await to(line, other)).body.taken, 1);
  assert.equal((await to(`${line}\n${line}`, other)).body.taken, 2);
  assert.equal((await rows(owner)).length, 4);
});

test('many requests at once with overlapping uuids store each exactly once', async () => {
  const owner = await harness.newOrganization();
  const uuids = Array.from({ length: 100 }, () => randomUUID());
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_none, index) =>
      owner.ask('POST', pathOf(owner), {
        events: uuids
          .slice(index, index + 51)
          .map((uuid) => ({ event: String(index), distinct_id: 'd', uuid })),
      }),
    ),
  );
  assert.equal(
    answers.reduce((sum, answer) => sum + answer.body.taken, 0),
    100,
  );
  assert.equal((await rows(owner)).length, 100);
});
