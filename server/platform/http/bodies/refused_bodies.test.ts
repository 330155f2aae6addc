import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    own = await harness.newOrganization();
  },
});
let own: TestOrganization;

const list = '/api/organizations/';

test('a body that is not JSON, of another kind, packed or too deep is refused', async () => {
  const cases: [string | Buffer, Record<string, string>, number, string][] = [
    ['{', {}, 400, 'parse_error'],
    ['nope', {}, 400, 'parse_error'],
    [Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'parse_error'],
    ['['.repeat(100_000), {}, 400, 'parse_error'],
    ['{"a":'.repeat(65) + '1' + '}'.repeat(65), {}, 400, 'parse_error'],
    ['[]', {}, 400, 'invalid_input'],
    ['"text"', {}, 400, 'invalid_input'],
    ['null', {}, 400, 'null'],
    [
      'name=x',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    ['{"name":"x"}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    [
      '{"name":"x"}',
      { 'content-type': 'application/json; charset=latin1' },
      415,
      'unsupported_media_type',
    ],
    ['{"name":"x"}', { 'content-type': 'nonsense' }, 415, 'unsupported_media_type'],
    ['{"name":"x"}', { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
  ];
  for (const [body, headers, status, code] of cases) {
    const answer = await own.ask('POST', list, body, headers);
    assert.equal(answer.status, status, String(body).slice(0, 40));
    assert.equal(answer.body.code, code, String(body).slice(0, 40));
  }
  const plain = await own.ask('POST', list, '{"name":"x"}', {
    'content-type': 'application/json; charset="UTF-8"',
  });
  assert.equal(plain.status, 201);
});

test('without credentials 64 KiB are taken', async () => {
  const padded = (bytes: number) => `{"email":"${' '.repeat(bytes - 12)}"}`;
  const url = '/api/users/reset_password/';
  assert.deepEqual(
    (await harness.request('POST', url, { body: padded(64 * 1024) })).body.attr,
    'email',
  );
  const large = await harness.request('POST', url, { body: padded(64 * 1024 + 1) });
  assert.equal(large.status, 413);
  assert.match(large.body.detail, / 65536 bytes\./);
});

test('NUL and half surrogates are refused everywhere', async () => {
  for (const body of [
    '{"name":"a\\u0000b"}',
    '{"unknown":{"deep":["\\u0000"]}, "name":"x"}',
    '{"\\u0000":1,"name":"x"}',
  ]) {
    const answer = await own.ask('POST', list, body);
    assert.equal(answer.status, 400, body);
    assert.equal(answer.body.code, 'null_characters_not_allowed');
  }
  assert.equal(
    (await own.ask('POST', list, '{"unknown":{"deep":["\\u0000"]}, "name":"x"}')).body.attr,
    'unknown__deep__0',
  );
  assert.equal((await own.ask('POST', list, '{"name":"\\ud800"}')).body.code, 'invalid_input');
  assert.equal((await own.ask('POST', list, '{"name":"\\ud83d\\ude00"}')).body.name, '😀');
  assert.equal((await own.ask('GET', `${list}?limit=%00`)).status, 400);
  assert.equal((await own.ask('GET', `${list}%00/`)).status, 404);
  assert.equal((await own.ask('GET', `${list}%zz/`)).status, 404);
});

test('unknown and read-only fields and __proto__ are ignored, names are trimmed', async () => {
  const id = own.organization.id;
  const answer = await own.ask(
    'POST',
    list,
    '{"name":"  A  name ' +
      `","id":"${id}","slug":"mine","plugins_access_level":0,"__proto__":{"level":1},` +
      '"constructor":1,"toString":2}',
  );
  assert.equal(answer.status, 201);
  assert.notEqual(answer.body.id, id);
  assert.equal(answer.body.slug, 'a-name');
  assert.equal(answer.body.name, 'A  name');
  assert.equal(answer.body.plugins_access_level, 6);
  assert.equal(({} as { level?: number }).level, undefined);
});
