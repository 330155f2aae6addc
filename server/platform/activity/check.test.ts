import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { checkChains } from './check.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const day_ms = 24 * 3_600_000;
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);
let now = Date.parse('2026-03-01T12:00:00.000Z');

const check = () => checkChains(harness.deps);
const rename = (home: TestOrganization, name: string) =>
  home.ask('PATCH', `/api/organizations/${home.organization.id}/`, { name });
const chainOf = async (home: TestOrganization) => {
  const answer = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/chain/`,
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
const hashOf = async (home: TestOrganization, number: number) =>
  (await harness.deps.db.row<{ hash: string }>(sql`SELECT encode(hash, 'hex') AS hash FROM activity
    WHERE chain_id = ${home.organization.id}::uuid AND number = ${number}`))!.hash;

test('each chain is read again once a day, and says up to where it is whole', async () => {
  const home = await harness.newOrganization();
  assert.deepEqual(await chainOf(home), { number: 0, hash: '0'.repeat(64), check: null });
  await rename(home, 'One');
  const [first] = [await hashOf(home, 1)];
  assert.deepEqual(await chainOf(home), { number: 1, hash: first, check: null });
  assert.ok((await check()) >= 1);
  const whole = {
    checked_at: '2026-03-01T12:00:00.000000Z',
    number: 1,
    hash: first,
    faults_found: 0,
    detail: null,
  };
  await rename(home, 'Two');
  assert.deepEqual(await chainOf(home), {
    number: 2,
    hash: await hashOf(home, 2),
    check: whole,
  });
  now += day_ms - 1;
  assert.equal(await check(), 0);
  now += 1;
  await Promise.all([check(), check(), check()]);
  const { check: later } = await chainOf(home);
  assert.deepEqual([later.number, later.checked_at], [2, '2026-03-02T12:00:00.000000Z']);
});

test('tampering is reported, and a forged check is not believed', async () => {
  const home = await harness.newOrganization();
  for (const name of ['One', 'Two', 'Three']) await rename(home, name);
  const kept = await harness.deps.db.rows<{ item_name: string }>(sql`
    UPDATE activity SET item_name = 'Another' WHERE chain_id = ${home.organization.id}::uuid
      AND number = 2 RETURNING item_name`);
  assert.equal(kept.length, 1);
  await check();
  const { check: found } = await chainOf(home);
  assert.deepEqual([found.number, found.faults_found], [3, 1]);
  assert.match(found.detail, /^Entry 2: The entry is not what the server wrote here/);
  // A person with write access to the database can clear the finding there, but not here.
  await harness.deps.db.run(sql`UPDATE activity_checks SET faults_found = 0, detail = NULL
    WHERE chain_id = ${home.organization.id}::uuid`);
  assert.equal((await chainOf(home)).check, null);
});

test('a process that died while it read keeps others off for an hour only', async () => {
  const home = await harness.newOrganization();
  await rename(home, 'One');
  await harness.deps.db.run(sql`INSERT INTO activity_checks (chain_id, checking_until)
    VALUES (${home.organization.id}::uuid, ${new Date(now + 3_600_000).toISOString()})`);
  await check();
  assert.equal((await chainOf(home)).check, null);
  now += 3_600_000;
  await check();
  assert.equal((await chainOf(home)).check.faults_found, 0);
});
