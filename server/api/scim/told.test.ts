import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { newDirectory } from '../../../test/factories/people/directories.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import type { Harness } from '../../../test/harness.ts';
import { warnOfTokens } from './tokens/chores.ts';

let harness: Harness;
const world = aroundTests(openDomainWorld, async (opened) => {
  harness = opened.harness;
});

const day_ms = 24 * 3_600_000;

test('14 days and 1 day before a token expires owners are warned, once each', async () => {
  const own = await newDirectory(harness);
  const second = await harness.newMember(own.organization.id, 15);
  const administrator = await harness.newMember(own.organization.id, 8);
  const end = world.now() + 100 * day_ms;
  const body = { name: 'Okta', expires_at: new Date(end).toISOString() };
  assert.equal((await own.ask('POST', `${own.url}tokens/`, body)).status, 201);
  let told = 0;
  for (const [days, expected] of [
    [15, 0],
    [14, 1],
    [10, 0],
    [1, 1],
    [0.5, 0],
    [-1, 0],
  ] as const) {
    world.goTo(end - days * day_ms);
    const counts = await Promise.all([warnOfTokens(harness.deps), warnOfTokens(harness.deps)]);
    assert.equal(counts[0] + counts[1], expected, `${days} days before`);
    told += expected;
    // Before days pass: a mail that comes too late is not sent.
    for (const { email } of [own.user, second.user])
      await world.mailed(email, 'expires soon', told);
  }
  const [mail] = await world.mailed(second.user.email, 'expires soon', 2);
  assert.match(mail!.content.text!, /From 20\d\d-.* on, the server refuses the token “Okta”/);
  assert.deepEqual(await world.mailed(administrator.user.email, 'expires soon', 0), []);
  assert.deepEqual(await own.entries(2), ['warned scim_token Okta', 'warned scim_token Okta']);
});

test('owners and members with another level get a mail about the levels of groups', async () => {
  const own = await newDirectory(harness);
  const { id } = await own.provision('ada');
  await own.provision('bob');
  const group = await own.scim('POST', '/Groups', {
    displayName: 'Admins\nhttps://evil.example',
    members: [{ value: id }],
  });
  const path = `${own.url}groups/${group.body.id}/`;
  assert.equal((await own.ask('PATCH', path, { level: 8 })).status, 200);
  for (const email of [own.user.email, `ada@${own.domain.domain}`]) {
    const [told] = await world.mailed(email, 'directory group', 1);
    assert.match(told!.content.text!, /the group “Admins \(link removed\)”: it now makes/);
  }
  // A PATCH without a change sends no mail.
  assert.equal((await own.ask('PATCH', path, { level: 8 })).status, 200);
  await own.ask('PATCH', path, { level: null });
  const [, second] = await world.mailed(own.user.email, 'directory group', 2);
  assert.match(second!.content.text!, /no longer sets .*\n+.*Nobody's level has changed/s);
  assert.deepEqual(await world.mailed(`bob@${own.domain.domain}`, 'directory group', 0), []);
});
