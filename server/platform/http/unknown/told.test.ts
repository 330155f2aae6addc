import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../../test/harness.ts';

aroundTests(
  () => openHarness({ clickhouse: false }),
  async (harness) => {
    home = await harness.newOrganization();
    exports = `/api/projects/${home.project.id}/batch_exports/`;
  },
);
let home: TestOrganization;
let exports: string;

const told = (answer: Answer) => answer.headers['sluice-ignored'];
const body = {
  name: 'One',
  interval: 'hour',
  destination: { type: 'NoOp', config: {}, kind: 'fast' },
  moods: 'x',
};

test('an answer names what was ignored, also a refusal and a repeated one', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const created = await home.ask('POST', `${exports}?colour=red`, body, key);
  assert.deepEqual([created.status, told(created)], [201, 'colour, destination__kind, moods']);
  const again = await home.ask('POST', `${exports}?colour=red`, body, key);
  assert.deepEqual(
    [again.headers['idempotent-replayed'], told(again)],
    ['true', 'colour, destination__kind, moods'],
  );
  const wrong = await home.ask('POST', exports, { ...body, name: '' });
  assert.deepEqual([wrong.status, told(wrong)], [400, 'destination__kind, moods']);
  const elsewhere = await home.ask('POST', exports, { ...body, team_id: home.project.id + 1 });
  assert.deepEqual(
    [elsewhere.body.team_id, told(elsewhere)],
    [home.project.id, 'destination__kind, moods, team_id'],
  );
  const here = await home.ask('POST', exports, { ...body, team_id: home.project.id });
  assert.equal(told(here), 'destination__kind, moods');
  const list = await home.ask('GET', `${exports}?statuss=x&limit=1&format=json`);
  assert.deepEqual([list.status, told(list)], [200, 'statuss']);
  const head = await home.ask('HEAD', `${exports}?statuss=x`);
  assert.deepEqual([head.status, told(head)], [200, 'statuss']);
  const { etag } = (await home.ask('GET', exports)).headers;
  assert.ok(etag !== undefined);
  assert.equal((await home.ask('HEAD', exports)).headers['etag'], etag);
});

test('with validate_only the body says it too, beside the record and its ETag', async () => {
  const { id } = await newExport(home);
  const read = await home.ask('GET', `${exports}${id}/`);
  const url = `${exports}${id}/?validate_only=true`;
  const { warnings, ...record } = (await home.ask('PATCH', url, { intervall: 'day' })).body;
  assert.deepEqual(record, read.body);
  assert.deepEqual(warnings, [
    {
      attr: 'intervall',
      code: 'unknown_field',
      detail: 'Unknown field. Did you mean `interval`?',
    },
  ]);
  const tried = await home.ask('PATCH', url, { intervall: 'day' });
  assert.equal(tried.headers['etag'], read.headers['etag']);
  assert.equal((await home.ask('PATCH', url, { interval: 'day' })).body.warnings, undefined);
});

test('a record that was read can be sent back, in any spelling of its instants', async () => {
  const { id } = await newExport(home);
  const read = (await home.ask('GET', `${exports}${id}/`)).body;
  const respelled = { ...read, created_at: read.created_at.replace('000Z', '+00:00') };
  const answer = await home.ask('PUT', `${exports}${id}/`, { ...respelled, name: 'Renamed' });
  assert.deepEqual([answer.status, told(answer)], [200, undefined], answer.text);
  const fresh = { ...answer.body, id: randomUUID(), x: 1 };
  const wrong = await home.ask('PUT', `${exports}${id}/`, fresh);
  assert.deepEqual([wrong.status, told(wrong)], [200, 'x, id']);
  const project = `/api/projects/${home.project.id}/`;
  const known = (await home.ask('GET', project)).body;
  assert.equal((await home.ask('PUT', project, { ...known, name: 'Renamed' })).status, 200);
  // Some of what was read may have moved since, and a PATCH says what to change.
  const moved = { ...known, api_token: 'slp_other' };
  const put = await home.ask('PUT', `${project}?validate_only=true`, moved);
  assert.deepEqual(
    [put.status, told(put), put.body.warnings[0].code],
    [200, 'api_token, updated_at', 'read_only'],
  );
  const patched = await home.ask('PATCH', project, { api_token: 'slp_other' });
  assert.deepEqual([patched.status, patched.body.attr], [400, 'api_token']);
});

test('our own routes refuse, with every other fault and the nearest name', async () => {
  const list = `/api/projects/${home.project.id}/write_keys/`;
  const wrong = await home.ask('POST', list, { name: 5, nane: 'x', id: 1 });
  assert.deepEqual(
    wrong.body.errors.map(({ attr, code }: any) => [attr, code]),
    [
      ['nane', 'unknown_field'],
      ['id', 'read_only'],
      ['name', 'invalid_input'],
    ],
  );
  assert.match(wrong.body.errors[0].detail, /Did you mean `name`\?/);
  const asked = await home.ask('GET', `${list}?limitt=5`);
  assert.deepEqual(
    [asked.status, asked.body.attr, asked.body.detail],
    [400, 'limitt', 'Unknown parameter. Did you mean `limit`?'],
  );
  assert.equal(told(asked), undefined);
  assert.equal((await home.ask('GET', `${list}?format=json&limit=5`)).status, 200);
  assert.equal((await home.ask('GET', `${list}?format=csv`)).status, 400);
  // Nobody's record is not there, whatever is said of it.
  const nobody = await home.ask('PATCH', `${list}${randomUUID()}/`, { nonsense: 1 });
  assert.equal(nobody.status, 404);
});

test('names cannot break the header, nor make it long', async () => {
  const hostile = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [`a\r\nx-evil: ${at}\ud83d`, at]),
  );
  const answer = await home.ask('POST', `${exports}?%0d%0ax=1`, { ...body, ...hostile });
  assert.ok(told(answer)!.length < 1_010);
  assert.match(told(answer)!, /^[\x21-\x7e ]+, \.\.\.$/);
  assert.equal(answer.headers['x-evil'], undefined);
});
