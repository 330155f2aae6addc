import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { newPerson } from '../../../test/factories/people/people.ts';
import { shareHarness } from '../../../test/harness.ts';
import { listKeys, issueKey, revokeKey } from './key.ts';
import { listUsers } from './user.ts';
import { UserError } from '../user_error.ts';

const harness = shareHarness({ clickhouse: false });

const wanted = { label: 'for a robot', scopes: ['user:read'], expires_in_days: undefined };

test('a key that is revoked is refused at once, and the log of its owner says so', async () => {
  const user = await newPerson(harness);
  const key = await issueKey(harness.deps, { ...wanted, email: user.email });
  const ask = async () => (await harness.request('GET', '/api/users/@me/', { key })).status;
  assert.equal(await ask(), 200);
  const [row] = await harness.deps.db.rows<{ id: string }>(
    sql`SELECT id FROM personal_api_keys WHERE user_id = ${user.id} AND label = ${wanted.label}`,
  );
  assert.equal(
    await revokeKey(harness.deps, row!.id),
    `The key "for a robot" of ${user.email} is revoked.`,
  );
  assert.equal(await ask(), 401);
  const entries = await harness.deps.db.rows<{ activity: string; item_id: string }>(
    sql`SELECT activity, item_id FROM activity WHERE chain_id = ${user.uuid} ORDER BY number DESC
      LIMIT 1`,
  );
  assert.deepEqual(entries, [{ activity: 'deleted', item_id: row!.id }]);
  await assert.rejects(revokeKey(harness.deps, row!.id), UserError);
  await assert.rejects(revokeKey(harness.deps, 'slk_something'), UserError);
});

test('an impossible label is refused in a sentence', async () => {
  const { email } = await newPerson(harness);
  for (const label of ['', '  ', 'x'.repeat(101), 'two\nlines'])
    await assert.rejects(issueKey(harness.deps, { ...wanted, email, label }), UserError);
});

test('everybody is listed with how they get in and where they belong', async () => {
  const { organization, user } = await harness.newOrganization({ level: 8 });
  await harness.giveSecondFactor(user);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`);
  const line = (await listUsers(harness.deps))
    .split('\n')
    .find((text) => text.startsWith(user.email));
  assert.match(
    line!,
    new RegExp(`^${user.email}  not active,.* second factor  ${organization.slug} \\(level 8\\)$`),
  );
});

test('keys are listed with what they are and never a key', async () => {
  const user = await newPerson(harness);
  assert.equal(await listKeys(harness.deps, { email: user.email }), 'There are no keys.');
  const first = await issueKey(harness.deps, { ...wanted, email: user.email });
  const label = 'a \u001b[2J trick';
  const second = { label: 'b', scopes: ['*'], expires_in_days: 3, email: user.email };
  await issueKey(harness.deps, second);
  // As labels were taken before they had to be one line.
  await harness.deps.db.run(
    sql`UPDATE personal_api_keys SET label = ${label} WHERE user_id = ${user.id} AND label = 'b'`,
  );
  await harness.request('GET', '/api/users/@me/', { key: first });
  // The use of a key is noted beside the request.
  await eventually('the use of the key is not noted', async () =>
    (await listKeys(harness.deps, { email: user.email })).includes('last used'),
  );
  const text = await listKeys(harness.deps, { email: user.email.toUpperCase() });
  const lines = text.split('\n');
  assert.equal(lines.length, 4);
  assert.match(lines[0]!, /^[0-9a-f-]{36} {2}slk_\S+ {2}\S+@\S+ {2}"a \\u001b\[2J trick"$/);
  assert.match(lines[1]!, /^ {2}\*; expires 20\d\d-\S+; never used$/);
  assert.match(lines[3]!, /^ {2}user:read; never expires; last used 20\d\d-\S+$/);
  assert.ok(!text.includes(first));
  assert.ok((await listKeys(harness.deps, {})).includes(text.split('  ')[0]!));
  await assert.rejects(listKeys(harness.deps, { email: 'nobody@example.com' }), UserError);
});
