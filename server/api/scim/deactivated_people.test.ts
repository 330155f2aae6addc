import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newDirectory, patchOf } from '../../../test/factories/people/directories.ts';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import {
  forgetAllAttempts,
  mailedToken,
  openBrowser,
  password,
  signedIn,
  trySignIn,
  userNow,
} from '../../../test/factories/people/people.ts';
import {
  harness,
  openAroundTests,
  server,
} from '../../../test/factories/people/people_around_tests.ts';
import { hashPassword } from '../../platform/passwords/password.ts';
import { isDeactivatedByDirectory } from '../deactivation/store.ts';

openAroundTests('mail');

/**
 * Somebody of a company with a directory who owns an organization besides, with an invite and a
 * target for notices of theirs in it.
 */
async function newEmployee() {
  const directory = await newDirectory(harness);
  const { id } = await directory.provision('eve');
  const email = `eve@${directory.domain.domain}`;
  await harness.deps.db.run(sql`UPDATE users SET is_email_verified = false,
    password_hash = ${await hashPassword(password)} WHERE email = ${email}`);
  const user = await userNow(harness, email);
  const elsewhere = await harness.newOrganization();
  await addMember(harness.deps, elsewhere.organization.id, user, 15);
  const key = await harness.newKey(user);
  const ask = (method: string, path: string, body?: unknown) =>
    harness.request(method, path, { key, body });
  const targets = `/api/projects/${elsewhere.project.id}/notice_targets/`;
  const invites = `/api/organizations/${elsewhere.organization.id}/invites/`;
  const invite = await ask('POST', invites, { target_email: newAddress() });
  const target = await ask('POST', targets, { type: 'email', address: newAddress() });
  assert.deepEqual([invite.status, target.status], [201, 201]);
  const { id: export_id } = await newExport(elsewhere);
  await endedRun(harness, export_id, failed);
  const deliveries = `/api/projects/${elsewhere.project.id}/notice_deliveries/`;
  const [delivery] = (await ask('GET', deliveries)).body.results;
  const setActive = async (active: boolean) => {
    const change = patchOf({ op: 'replace', value: { active } });
    assert.equal((await directory.scim('PATCH', `/Users/${id}`, change)).status, 200);
  };
  const browser = await signedIn(harness, user);
  return {
    directory,
    user,
    elsewhere,
    ask,
    browser,
    setActive,
    invites,
    invite: `${invites}${invite.body.id}/`,
    delivery: `${deliveries}${delivery.id}/`,
    targets,
    target: `${targets}${target.body.id}/`,
  };
}

const newAddress = () => `${randomUUID()}@stranger.example`;

/** Each way by which somebody lets this server mail a stranger, or founds an organization. */
const ways = (eve: Awaited<ReturnType<typeof newEmployee>>) =>
  [
    ['POST', '/api/organizations/', { name: 'Mine' }],
    ['POST', eve.invites, { target_email: newAddress() }],
    ['POST', `${eve.invites}bulk/`, [{ target_email: newAddress() }]],
    ['POST', `${eve.invite}resend/`, undefined],
    ['POST', eve.targets, { type: 'email', address: newAddress() }],
    ['PATCH', eve.target, { address: newAddress() }],
    ['PUT', eve.target, { address: newAddress() }],
    ['POST', `${eve.target}test/`, undefined],
    ['POST', `${eve.delivery}send/`, undefined],
    [
      'POST',
      `/api/organizations/${eve.elsewhere.organization.id}/domains/`,
      { domain: `d${randomUUID().slice(0, 8)}.example` },
    ],
    ['POST', '/api/users/@me/verify_email/', undefined],
  ] as const;

test('a deactivated person cannot create organizations or send mail', async () => {
  const eve = await newEmployee();
  // A link of before would lead out of the domain.
  const address = newAddress();
  const asked = await eve.browser.ask('POST', '/api/users/@me/email/', {
    email: address,
    current_password: password,
  });
  assert.equal(asked.status, 200);
  const token = await mailedToken(server, address, 'verify-email');
  await eve.setActive(false);
  assert.equal(await isDeactivatedByDirectory(harness.deps.db, eve.user.id), true);
  const sent = server.mails.length;
  const refused = /^The directory of your company has deactivated you, so you cannot .+ here\./;
  for (const [method, path, body] of ways(eve)) {
    const answer = await eve.ask(method, path, body);
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
    assert.match(answer.body.detail, refused);
  }
  await forgetAllAttempts(harness);
  const { status, body } = await trySignIn(harness, eve.user.email);
  assert.deepEqual([status, refused.test(body.detail)], [403, true]);
  assert.equal((await trySignIn(harness, eve.user.email, { password: 'x' })).status, 401);
  const browser = openBrowser(harness, await harness.newSession(eve.user));
  const changed = await browser.ask('POST', '/api/users/@me/email/', {
    email: newAddress(),
    current_password: password,
  });
  assert.deepEqual([changed.status, refused.test(changed.body.detail)], [403, true], changed.text);
  const proved = await eve.ask('POST', '/api/users/verify_email/', { token });
  assert.deepEqual([proved.status, refused.test(proved.body.detail)], [403, true], proved.text);
  const webhook = { type: 'webhook', url: 'https://hooks.stranger.example/' };
  assert.equal((await eve.ask('POST', eve.targets, webhook)).status, 201, 'no mail');
  assert.deepEqual(
    server.mails.slice(sent).filter(({ to }) => to.some((one) => one.endsWith('stranger.example'))),
    [],
  );
});

test('it ends with the activation, the domain, and holds in that domain alone', async () => {
  const eve = await newEmployee();
  const { db } = harness.deps;
  const isOut = () => isDeactivatedByDirectory(db, eve.user.id);
  await eve.setActive(false);
  const set = (state: string) =>
    db.run(sql`UPDATE domains SET state = ${state} WHERE id = ${eve.directory.domain.id}::uuid`);
  assert.equal(await isOut(), true);
  await set('lapsed');
  assert.equal(await isOut(), false);
  await set('verified');
  const { email } = eve.user;
  for (const [address, is_out] of [
    [email.toUpperCase(), true],
    [`x${email}`, true],
    [email.replace('@', '@sub.'), false],
    [email.replace('@', '@x'), false],
    ['eve@private.example', false],
    [email, true],
  ] as const) {
    await db.run(sql`UPDATE users SET email = ${address} WHERE id = ${eve.user.id}`);
    assert.equal(await isOut(), is_out, address);
  }
  await eve.setActive(true);
  assert.equal(await isOut(), false);
  for (const [method, path, body] of ways(eve)) {
    const { status, text } = await eve.ask(method, path, body);
    assert.ok(status >= 200 && status < 300, `${method} ${path}: ${text}`);
  }
});
