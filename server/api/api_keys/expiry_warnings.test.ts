import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import type { UserRow } from '../users/store.ts';
import { warnOfExpiringKeys } from './expiry_warnings.ts';

const day_ms = 24 * 3_600_000;
const world = aroundTests(openDomainWorld);
const warn = () => warnOfExpiringKeys(world.harness.deps);
const mailed = (user: UserRow, count: number) =>
  world.mailed(user.email, 'An API key of yours expires soon', count);

/** A key that was created so many days before it expires. */
async function newKey(user: UserRow, end: number, days: number, label = 'CI <b>'): Promise<string> {
  const { db } = world.harness.deps;
  await world.harness.newKey(user, { label, expires_at: new Date(end).toISOString() });
  const row = await db.row<{ id: string }>(sql`
    UPDATE personal_api_keys SET created_at = expires_at - ${days} * interval '1 day'
    WHERE user_id = ${user.id} AND label = ${label} RETURNING id`);
  return row!.id;
}

test('14 days and 1 day before a key expires its owner is warned, once each', async () => {
  const { user } = await world.harness.newOrganization();
  const end = Date.parse('2031-06-15T12:00:00Z');
  const id = await newKey(user, end, 90);
  const steps: [number, number][] = [
    [end - 15 * day_ms, 0],
    [end - 14 * day_ms - 1, 0],
    [end - 14 * day_ms, 1],
    [end - 2 * day_ms, 0],
    [end - day_ms, 1],
    [end - 1, 0],
    [end + day_ms, 0],
  ];
  let told = 0;
  for (const [instant, expected] of steps) {
    world.goTo(instant);
    const counts = await Promise.all([warn(), warn()]);
    assert.equal(counts[0] + counts[1], expected, `${(end - instant) / day_ms} days before`);
    told += expected;
    // Before days pass: a mail that comes too late is not sent.
    await mailed(user, told);
  }
  const [mail] = await mailed(user, 2);
  const text = mail!.content.text ?? '';
  for (const part of ['"CI <b>" (slk_...', '2031-06-15T12:00:00.000000Z', 'It was never used.'])
    assert.ok(text.includes(part), part);
  const entries = await world.harness.deps.db.rows<{ activity: string; user_id: null }>(
    sql`SELECT activity, user_id FROM activity WHERE item_id = ${id} AND chain_id = ${user.uuid}
      ORDER BY number`,
  );
  assert.deepEqual(
    entries,
    Array.from({ length: 2 }, () => ({ activity: 'warned', user_id: null })),
  );
});

test('a step that was past at the creation is skipped; another expiry starts again', async () => {
  const { user } = await world.harness.newOrganization();
  const end = Date.parse('2032-06-15T12:00:00Z');
  const id = await newKey(user, end, 7);
  world.goTo(end - 6 * day_ms);
  assert.equal(await warn(), 0);
  world.goTo(end - day_ms);
  assert.equal(await warn(), 1);
  const cookie = await world.harness.newSession(user);
  const change = (expires_at: string) =>
    world.harness.request('PATCH', `/api/personal_api_keys/${id}/`, {
      headers: { cookie },
      body: { expires_at },
    });
  assert.equal((await change(new Date(end + 30 * day_ms).toISOString())).status, 200);
  assert.equal(await warn(), 0);
  world.goTo(end + 16 * day_ms);
  assert.equal(await warn(), 1);
  world.goTo(end + 29 * day_ms);
  assert.equal(await warn(), 1);
});

test('the owner of a rotated or expired key, or an inactive one, gets no warning', async () => {
  const { user } = await world.harness.newOrganization();
  const { db } = world.harness.deps;
  const end = Date.parse('2033-06-15T12:00:00Z');
  const rolled = await newKey(user, end, 90, 'rolled');
  await db.run(sql`UPDATE personal_api_keys SET rolled_at = now() WHERE id = ${rolled}::uuid`);
  await newKey(user, end - 20 * day_ms, 90, 'over');
  world.goTo(end - 10 * day_ms);
  assert.equal(await warn(), 0);
  await newKey(user, end, 90, 'live');
  await db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`);
  assert.equal(await warn(), 0);
  await db.run(sql`UPDATE users SET is_active = true WHERE id = ${user.id}`);
  assert.equal(await warn(), 1);
});
