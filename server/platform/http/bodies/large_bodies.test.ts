import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { shareHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { ApiError } from '../errors.ts';
import { readJson } from './json_text.ts';
import { checked } from './validator.ts';

const mebibyte = 1024 * 1024;
const list = '/api/organizations/';

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    own = await harness.newOrganization();
  },
});
let own: TestOrganization;

const padded = (bytes: number) => `{"name":"x","unknown":"${'y'.repeat(bytes - 25)}"}`;
const post = (url: string, body: string) => own.ask('POST', url, body);

/** Processor milliseconds of this thread, which a busy machine does not change. */
function processorTime(work: () => void): number {
  const begun = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

test('a body of 1 MiB is taken, a larger one is 413 and says the limit', async () => {
  assert.equal((await post(`${list}?validate_only=true`, padded(mebibyte))).status, 200);
  const large = await post(list, padded(mebibyte + 1));
  assert.equal(large.status, 413);
  assert.equal(large.body.code, 'request_too_large');
  assert.match(large.body.detail, / 1048576 bytes\./);
});

test('sources, bulk invites and events take 20 MiB, and the document says each limit', async () => {
  const bulk = `${list}${own.organization.id}/invites/bulk/`;
  assert.notEqual((await post(bulk, padded(20 * mebibyte))).status, 413);
  assert.equal((await post(bulk, padded(20 * mebibyte + 1))).status, 413);
  const { paths, components } = (await harness.request('GET', '/api/schema/')).body;
  const limitOf = (path: string, method: string) => {
    const { $ref, ...own } = paths[path][method].responses['413'];
    const { description } = $ref === undefined ? own : components.responses[$ref.split('/').at(-1)];
    return Number(/(\d+) bytes/.exec(description)![1]);
  };
  const organization = '/api/organizations/{organization_id}/';
  assert.equal(limitOf(`${organization}invites/bulk/`, 'post'), 20 * mebibyte);
  for (const method of ['patch', 'put'])
    assert.equal(
      limitOf(`${organization}pipeline_destinations/{id}/update_source/`, method),
      20 * mebibyte,
    );
  assert.equal(limitOf('/api/projects/{project_id}/events/', 'post'), 20 * mebibyte);
  assert.equal(limitOf('/api/projects/', 'post'), mebibyte);
  assert.equal(limitOf('/api/sessions/', 'post'), 64 * 1024);
});

test('a body of more than 1 MiB is read beside the loop, and refused as others are', async () => {
  const long = 'y'.repeat(mebibyte);
  for (const [rest, attr, code] of [
    [`"unknown":"${long}"`, null, 'parse_error'],
    [`"first_name":"${long}"}`, '0__first_name', 'max_length'],
    [`"message":"${long}\\u0000"}`, '0__message', 'null_characters_not_allowed'],
  ]) {
    const { status, body } = await post(
      `${list}${own.organization.id}/invites/bulk/`,
      `{"target_email":"ada@example.com",${rest}`,
    );
    assert.deepEqual([status, body.attr, body.code, body.errors.length], [400, attr, code, 1]);
  }
});

test('a body of over 10,000 values is refused by name before its values are created', async () => {
  const numbers = (count: number) => `{"name":"x","unknown":[${'1,'.repeat(count - 1)}1]}`;
  assert.equal((await post(`${list}?validate_only=true`, numbers(9_000))).status, 200);
  const many = await post(list, numbers(10_001));
  assert.equal(many.status, 400);
  assert.deepEqual(
    [many.body.code, many.body.detail],
    ['parse_error', 'The body holds more than 10000 values.'],
  );
  // Commas and brackets within texts are no values.
  const text = JSON.stringify({ name: 'x', unknown: ',[{"\\'.repeat(20_000) });
  assert.equal((await post(`${list}?validate_only=true`, text)).status, 200);
});

test('any body of 1 MiB is refused far faster than it could be read', () => {
  let keys = '{"k":1';
  for (let index = 0; keys.length < mebibyte; index += 1) keys += `,"${index.toString(36)}":1`;
  const text = `${keys}}`;
  const bytes = Buffer.from(text);
  const refused = () => assert.throws(() => readJson(bytes), /more than 10000 values/);
  refused();
  const read = processorTime(() => void JSON.parse(text));
  const looked = processorTime(refused);
  assert.ok(looked < read / 2, `${looked} ms to refuse, ${read} ms to read`);
});

test('an answer lists the first 1,000 of many violations', () => {
  const schema = Type.Object({ names: Type.Array(Type.Union([Type.String(), Type.Null()])) });
  for (const found of [
    () => checked(schema, { names: Array.from({ length: 9_000 }, () => 1) }),
    () => {
      const { unstorable } = readJson(Buffer.from(`["\\u0000"${',"\\u0000"'.repeat(9_000)}]`));
      return checked(Type.Unknown(), [], '', unstorable);
    },
  ])
    assert.throws(found, (error) => error instanceof ApiError && error.violations.length === 1_000);
});
