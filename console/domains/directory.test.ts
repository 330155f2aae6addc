import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';

const world = openConsole();
const { skip } = world;

test('a directory is switched on, given to it, and its groups get levels', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization({ name: 'Acme' });
  const base = `/api/organizations/${home.organization.id}/domains/`;
  const claimed = await harness.request('POST', base, {
    key: home.key,
    body: { domain: 'acme.example' },
  });
  const { id } = claimed.body;
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  const path = `/organizations/${home.organization.id}/domains/${id}`;
  await page.goto(path);
  const section = page.getByRole('region', { name: 'Provisioning (SCIM)' });
  await section.getByText('You can switch it on once the domain is verified.').waitFor();
  await harness.deps.db.run(sql`UPDATE domains SET state = 'verified' WHERE id = ${id}`);
  await page.reload();
  await section.getByLabel('Name').fill('<i>Okta</i>');
  await section.getByRole('button', { name: 'Create token' }).click();
  const token = await section.getByLabel('the token of the directory').textContent();
  await section.getByText('The token was created.').waitFor();
  await section.getByText('The directory has not sent any request yet.').waitFor();
  await section.getByText(`/scim/v2/${id}`).waitFor();
  await checkEverywhere(page, 'directory_created');

  const ask = async (method: string, of: string, body: object) => {
    const sent = { key: token!, body };
    const answer = await harness.request(method, `/scim/v2/${id}${of}`, sent);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.id as string;
  };
  const ada = await ask('POST', '/Users', { userName: 'ada@acme.example' });
  await ask('POST', '/Users', { userName: 'bob@acme.example', active: false });
  await ask('POST', '/Groups', { displayName: '<b>Admins</b>', members: [{ value: ada }] });
  await ask('POST', '/Groups', { displayName: 'Staff' });
  await page.reload();
  await section.getByText('It manages 1 member, and has deactivated 1.').waitFor();
  await section.getByText('Groups decide nothing until you give one a level.').waitFor();
  await section.getByRole('button', { name: 'Level of <b>Admins</b>' }).click();
  await section.getByRole('button', { name: 'Cancel' }).click();
  await section.getByLabel('Lowest level of its people').waitFor({ state: 'detached' });
  await section.locator('h2:focus').waitFor();
  await section.getByRole('button', { name: 'Level of <b>Admins</b>' }).click();
  await section.getByLabel('Lowest level of its people').selectOption('8');
  await section.getByRole('button', { name: 'Save the level' }).click();
  await page.getByRole('button', { name: 'Let groups decide' }).click();
  await section.getByText('The level of <b>Admins</b> was saved.').waitFor();
  await section.getByRole('row').filter({ hasText: 'Admins' }).getByText('Administrator').waitFor();
  await section.getByText('Create another token').click();
  await section.getByText('Switch the directory off', { exact: true }).click();
  await checkEverywhere(page, 'directory_groups');

  await section.getByLabel('The directory may deactivate').check();
  await section.getByRole('button', { name: 'Save rule' }).click();
  await page.getByRole('button', { name: 'Let it manage owners' }).click();
  await section.getByText('The rule about owners was saved.').waitFor();
  const kept = await harness.request('GET', `${base}${id}/scim/`, { key: home.key });
  assert.equal(kept.body.may_manage_owners, true);

  const { user } = await harness.newMember(home.organization.id, 1);
  const reader = await world.visit(user);
  await reader.page.goto(path);
  const read = reader.page.getByRole('region', { name: 'Provisioning (SCIM)' });
  await read.getByText('Only owners of the organization can create and revoke tokens').waitFor();
  await read.getByRole('row').filter({ hasText: '<i>Okta</i>' }).waitFor();
  assert.equal(await read.getByRole('button', { name: /^Level|token|Save/ }).count(), 0);
  assert.ok(await read.getByLabel('The directory may deactivate').isDisabled());
  await reader.leave();

  await section.getByLabel('Name').fill('Next');
  await section.getByLabel('Expires in').selectOption('90');
  await section.getByRole('button', { name: 'Create token' }).click();
  await section.getByText('Two tokens work at a time.').waitFor();
  const works = async () =>
    (await harness.request('GET', `/scim/v2/${id}/Users`, { key: token! })).status;
  assert.equal(await works(), 200);
  await section.getByRole('button', { name: 'Revoke the token <i>Okta</i>' }).click();
  await page.getByRole('button', { name: 'Revoke token' }).click();
  await section.getByText('The token was revoked.').waitFor();
  assert.equal(await works(), 401);
  const tokens = await harness.request('GET', `${base}${id}/scim/tokens/`, { key: home.key });
  const [next] = tokens.body.results;
  assert.equal(next.name, 'Next');
  const second = await harness.newMember(home.organization.id, 15);
  await harness.request('DELETE', `${base}${id}/scim/tokens/${next.id}/`, { key: home.key });
  await harness.request('POST', `${base}${id}/scim/tokens/`, {
    key: second.key,
    body: { name: 'Of the second' },
  });
  const members = `/organizations/${home.organization.id}/members?member=${second.user.uuid}`;
  await page.goto(members);
  await page.getByLabel('Level').selectOption('8');
  for (const name of ['Change the level', 'Remove them']) {
    await page.getByRole('button', { name }).click();
    const told = page.getByRole('dialog').getByText('A directory token (SCIM) that they created');
    await told.waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
  }
  await page.goto(path);

  await page.getByRole('button', { name: 'Give the domain up' }).click();
  await page.getByRole('dialog').getByText('Its directory is deleted too').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await section.getByText('Switch the directory off', { exact: true }).click();
  await section.getByRole('button', { name: 'Switch off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click();
  await section.getByText('The directory was switched off.').waitFor();
  await section.getByRole('button', { name: 'Create token' }).waitFor();
  assert.equal(await section.getByLabel('the token of the directory').count(), 0);

  // A button without fields has no input, so nothing can be discarded.
  await harness.request('PATCH', `${base}${id}/`, {
    key: home.key,
    body: { saml_entity_id: 'https://idp.example/' },
  });
  await page.getByRole('button', { name: 'Give the domain up' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('acme.example');
  const given_up = page.getByRole('dialog').getByRole('button', { name: 'Give the domain up' });
  await given_up.click();
  await page.getByText('Somebody changed this since you opened it').waitFor();
  assert.equal(await page.getByText('Discard what you typed').count(), 0);
  await goTo(page, `/organizations/${home.organization.id}/activity`);
  await visitor.leave();
});
