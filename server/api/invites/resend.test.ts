import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  address,
  base,
  harness,
  invite,
  openAroundTests,
  resend,
  shown,
} from '../../../test/factories/people/invites_around_tests.ts';

openAroundTests();

test('a broken body sends nothing again', async () => {
  const { organization, key } = await harness.newOrganization();
  const { id, link } = (await invite(organization.id, key, { target_email: address() })).body;
  const send = (body: string, headers = {}) =>
    harness.request('POST', `${base(organization.id)}${id}/resend/`, { key, body, headers });
  for (const body of ['{bad', '[]', 'null', '"x"', '{"a":"\\u0000"}', '{"\\u0000":1}'])
    assert.equal((await send(body)).status, 400, body);
  assert.equal((await send('{}', { 'content-type': 'text/plain' })).status, 415);
  assert.equal((await shown(link)).status, 200);
  assert.equal((await send('{}')).status, 200);
  assert.equal((await shown(link)).status, 404);
});

test('a person who became a member meanwhile gets no further invite', async () => {
  const { organization, key } = await harness.newOrganization();
  const created = (await invite(organization.id, key, { target_email: address() })).body;
  const member = await harness.newMember(organization.id, 1);
  await harness.deps.db.run(
    sql`UPDATE users SET email = upper(${created.target_email}) WHERE id = ${member.user.id}`,
  );
  const answer = await resend(organization.id, created.id, key);
  assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_input']);
  assert.match(answer.body.detail, /already a member of the organization\.$/);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${member.user.id}`);
  assert.match(
    (await resend(organization.id, created.id, key)).body.detail,
    /the account is deactivated/,
  );
});
