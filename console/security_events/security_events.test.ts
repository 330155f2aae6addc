import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { addMember } from '../../test/factories/people/members.ts';
import { newPerson, trySignIn } from '../../test/factories/people/people.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'"> & "more"`;

async function newHome() {
  const home = await world.harness.newOrganization({ name: 'Home' });
  const person = await newPerson(world.harness);
  await addMember(world.harness.deps, home.organization.id, person, 1);
  const headers = { 'user-agent': hostile };
  await trySignIn(world.harness, person.email, { password: 'not the password' }, headers);
  const expires_at = '2020-01-01T00:00:00Z';
  const key = await world.harness.newKey(person, { expires_at });
  await world.harness.request('GET', '/api/projects/', { key });
  await world.harness.deps.security_log.flush();
  return { home, person };
}

test('owners see what was refused, narrow it, and others read who may', { skip }, async () => {
  const { home, person } = await newHome();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/activity`);
  await page.getByRole('tab', { name: 'Security' }).click();
  await page.waitForURL(/tab=security/);
  const events = page.getByRole('main').getByRole('listitem');
  await events.filter({ hasText: 'Failed sign-in: wrong password' }).waitFor();
  const refused = events.filter({ hasText: 'Refused API key: expired' });
  assert.match((await refused.textContent())!, /From 127\.0\.0\.1 with the key slk_\.\.\./);
  await checkEverywhere(page, 'security_events');
  await page.getByLabel('What happened').selectOption('Refused API key');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/event=key_refused/);
  await events.filter({ hasText: 'Failed sign-in' }).waitFor({ state: 'detached' });
  await page.reload();
  await refused.getByRole('link', { name: person.email }).click();
  await page.waitForURL(new RegExp(`user=${person.uuid}`));
  await events.filter({ hasText: 'Failed sign-in' }).waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByRole('tab', { name: 'Changes' }).click();
  await page.getByText('Nothing was changed yet').waitFor();
  await leave();

  const member = await world.visit(person);
  await member.page.goto(`/organizations/${home.organization.id}/activity?tab=security`);
  await member.page.getByText('Only owners of the organization can read security events').waitFor();
  await member.leave();
});

test('a person sees their own refusals on the account page', { skip }, async () => {
  const { person } = await newHome();
  const { page, leave } = await world.visit(person);
  await page.goto('/account');
  const section = page.getByRole('region', { name: 'Refusals and new devices' });
  await section.getByText('Failed sign-in: wrong password').waitFor();
  await section.getByText('Refused API key: expired').waitFor();
  await checkEverywhere(page, 'account_refusals');
  await leave();
});

test('an owner ends the sessions of a member', { skip }, async () => {
  const { home, person } = await newHome();
  const cookies = [];
  for (let time = 0; time < 3; time += 1) cookies.push(await world.harness.newSession(person));
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/members?member=${person.uuid}`);
  const sessions = page.getByRole('listitem').filter({ hasText: 'From 127.0.0.1 by password' });
  await sessions.first().waitFor();
  assert.equal(await sessions.count(), 3);
  await checkEverywhere(page, 'member_sessions');
  await sessions.first().getByRole('button', { name: /^End/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'End the session' }).click();
  await page.getByText('The session was ended.').waitFor();
  await page.getByRole('button', { name: 'End all sessions' }).click();
  await dialog.getByRole('button', { name: 'End all sessions' }).click();
  await page.getByText('They are signed in nowhere').waitFor();
  for (const cookie of cookies) {
    const answer = await world.harness.request('GET', '/api/users/@me/', { headers: { cookie } });
    assert.equal(answer.status, 401);
  }
  await leave();
});
