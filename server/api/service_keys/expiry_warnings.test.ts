import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import { newServiceKey } from '../../../test/factories/people/service_keys.ts';
import { warnOfServiceKeys } from './expiry_warnings.ts';

const day_ms = 24 * 3_600_000;
const world = aroundTests(openDomainWorld);
const warn = () => warnOfServiceKeys(world.harness.deps);

test('14 days and 1 day before a service key expires its owners are warned', async () => {
  const home = await world.harness.newOrganization();
  const { db } = world.harness.deps;
  const end = Date.parse('2031-06-15T12:00:00Z');
  const expires_at = new Date(end).toISOString();
  await newServiceKey(world.harness, home, { name: 'CI https://evil.example', expires_at });
  await newServiceKey(world.harness, home, { name: 'Rotated', expires_at });
  await db.run(sql`UPDATE service_keys SET created_at = expires_at - interval '90 days',
    rolled_at = CASE WHEN name = 'Rotated' THEN now() END
    WHERE organization_id = ${home.organization.id}::uuid`);
  const steps: [number, number][] = [
    [end - 14 * day_ms - 1, 0],
    [end - 14 * day_ms, 1],
    [end - 2 * day_ms, 0],
    [end - day_ms, 1],
    [end + day_ms, 0],
  ];
  let told = 0;
  for (const [instant, expected] of steps) {
    world.goTo(instant);
    const counts = await Promise.all([warn(), warn()]);
    assert.equal(counts[0] + counts[1], expected, `${(end - instant) / day_ms} days before`);
    told += expected;
    await world.mailed(home.user.email, 'A service key of your organization expires soon', told);
  }
  const [mail] = await world.mailed(home.user.email, 'A service key', 2);
  const text = mail!.content.text ?? '';
  for (const part of ['(slv_...', '2031-06-15T12:00:00.000000Z', 'It was never used.'])
    assert.ok(text.includes(part), part);
  assert.ok(!text.includes('https://evil.example'), 'a name makes no link');
  const entries = await db.rows(sql`SELECT 1 FROM activity WHERE scope = 'service_key'
    AND activity = 'warned' AND chain_id = ${home.organization.id}::uuid`);
  assert.equal(entries.length, 2);
});
