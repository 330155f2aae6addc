import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLater } from '../../../test/watchers/instants.ts';
import {
  address,
  harness,
  invite,
  list,
  openAroundTests,
  remove,
  resend,
  shown,
} from '../../../test/factories/people/invites_around_tests.ts';
import type { Level } from '../../../test/factories/people/invites_around_tests.ts';

const hour_ms = 3_600_000;
let passed_ms = 0;
openAroundTests(() => passed_ms);

test('rights decide who takes an invite back, and who sends it again', async () => {
  // Level of who created it, its level, who asks (themselves, or another of a level), what comes of
  // DELETE and of resend.
  const cases: [Level, Level, 'self' | Level, number, number][] = [
    [1, 1, 'self', 204, 200],
    [15, 15, 'self', 204, 200],
    [1, 1, 1, 403, 403],
    [15, 1, 1, 403, 403],
    [1, 1, 8, 204, 200],
    [15, 8, 8, 204, 200],
    // The answer to a resend has the link, which must lift nobody above themselves.
    [15, 15, 8, 204, 403],
    [8, 8, 15, 204, 200],
  ];
  for (const [maker_level, level, asker, deleted, resent] of cases) {
    const { organization } = await harness.newOrganization();
    const maker = await harness.newMember(organization.id, maker_level);
    const own = asker === 'self' ? maker : await harness.newMember(organization.id, asker);
    const { id } = (await invite(organization.id, maker.key, { target_email: address(), level }))
      .body;
    const name = `level ${level} by ${maker_level}, asked by ${asker}`;
    assert.equal((await resend(organization.id, id, own.key)).status, resent, `resend: ${name}`);
    assert.equal((await remove(organization.id, id, own.key)).status, deleted, `delete: ${name}`);
    assert.equal((await remove(organization.id, id, own.key)).status, deleted === 204 ? 404 : 403);
  }
});

test('a demoted inviter takes their invite back, but does not send it again', async () => {
  const { organization, key } = await harness.newOrganization();
  const maker = await harness.newMember(organization.id, 8);
  const { id } = (await invite(organization.id, maker.key, { target_email: address(), level: 8 }))
    .body;
  await harness.request(
    'PATCH',
    `/api/organizations/${organization.id}/members/${maker.user.uuid}/`,
    { key, body: { level: 1 } },
  );
  assert.equal((await resend(organization.id, id, maker.key)).status, 403);
  assert.equal((await remove(organization.id, id, maker.key)).status, 204);
});

test('an invite expires after 3 days, and can be sent again with another link', async () => {
  const { organization, key } = await harness.newOrganization();
  const created = (await invite(organization.id, key, { target_email: address() })).body;
  const isExpired = async () => (await list(organization.id, key)).results[0].is_expired;
  passed_ms = 72 * hour_ms - 60_000;
  assert.equal(await isExpired(), false);
  passed_ms = 72 * hour_ms + 60_000;
  assert.equal(await isExpired(), true);
  assert.equal((await shown(created.link)).body.is_expired, true);
  const again = await resend(organization.id, created.id, key);
  assert.equal(again.status, 200);
  assert.deepEqual(
    [again.body.id, again.body.is_expired, again.body.created_at, again.body.emailing_attempt_made],
    [created.id, false, created.created_at, false],
  );
  assert.ok(isLater(again.body.updated_at, created.updated_at));
  assert.equal((await shown(created.link)).status, 404);
  assert.deepEqual(
    [(await shown(again.body.link)).body.is_expired, await isExpired()],
    [false, false],
  );
  passed_ms += 72 * hour_ms;
  assert.equal(await isExpired(), true);
  assert.equal((await remove(organization.id, created.id, key)).status, 204);
  passed_ms = 0;
});
