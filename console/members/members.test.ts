import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { goTo } from '../../test/console/go_to.ts';
import { checkScale } from '../../test/console/scale.ts';
import { checkEverywhere, giveSession } from '../../test/console/visitor.ts';
import { openConsole } from '../../test/console/open_console.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'"> & "more"`;

test('a level is changed and a member removed, who is named by typing', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: `<b>Home</b>` });
  const { user } = await world.harness.newMember(home.organization.id, 1);
  await world.harness.deps.db.run(
    sql`UPDATE users SET first_name = ${hostile} WHERE id = ${user.id}`,
  );
  const { page, leave } = await world.visit(home.user);
  // The page ignores values of its address that it does not know.
  await page.goto(`/organizations/${home.organization.id}/members?tab=none&page=none`);
  const row = page.getByRole('row').filter({ hasText: hostile });
  assert.match((await row.textContent())!, /Member.*None/);
  await checkEverywhere(page, 'members');

  await goTo(page, `/organizations/${home.organization.id}/members?page=99`);
  await page.getByText('Page 99 is empty now.').waitFor();
  await page.getByRole('button', { name: 'Go to the last page' }).click();

  // Whoever may not leave learns it before they type anything.
  await page.getByRole('link', { name: 'Leave' }).click();
  await page.getByText('You are the only owner').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Leave the organization' }).count(), 0);

  await row.getByRole('link', { name: 'Manage' }).click();
  await page.getByRole('link', { name: 'Close' }).click();
  await page.getByLabel('Level').waitFor({ state: 'detached' });
  await row.getByRole('link', { name: 'Manage' }).click();
  await page.waitForURL(/member=/);
  await page.reload();
  await page.getByLabel('Level').selectOption('Administrator');
  await page.getByRole('button', { name: 'Change the level' }).click();
  await page.getByText('was changed.').waitFor();
  await row.getByText('Administrator').waitFor();

  await row.getByRole('link', { name: 'Manage' }).click();
  await page.getByRole('button', { name: 'Remove them' }).click();
  const dialog = page.getByRole('dialog', { name: `Remove ${hostile}?` });
  await dialog.getByRole('textbox').fill('somebody else');
  const remove = dialog.getByRole('button', { name: 'Remove them' });
  await remove.click();
  await page.getByText('exactly as it is written').waitFor();
  await checkEverywhere(page, 'member_removal');
  assert.equal(await row.count(), 1);
  await dialog.getByRole('textbox').fill(user.email);
  await remove.click();
  await page.getByText('was removed.').waitFor();
  assert.equal(await row.count(), 0);

  await page.getByRole('link', { name: 'Activity' }).click();
  const change = page.getByRole('listitem').filter({ hasText: 'updated' });
  assert.match((await change.first().textContent())!, /Member .*LevelMember Administrator/);
  // A name that turns the direction of writing turns nothing of what stands beside it.
  assert.equal(await change.first().locator('a > bdi').count(), 4);
  await page.getByText('without a gap').waitFor();
  await checkEverywhere(page, 'activity', []);
  await page.getByLabel('How').fill('removed');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/activity=removed/);
  await change.first().waitFor({ state: 'detached' });
  await page.reload();
  const entries = page.getByRole('main').getByRole('listitem');
  await entries.first().waitFor();
  assert.equal(await entries.count(), 1);
  await leave();
});

test('a bulk invite names each refused address, and its link leads in', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: `Home ${hostile}` });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/members`);
  await page.getByRole('link', { name: 'Invite people' }).click();
  await page.getByText('No open invites').waitFor();
  const addresses = page.getByLabel('Addresses');
  await addresses.fill(`Ada <ada@example.com>, nobody\n${home.user.email}`);
  await page.getByRole('button', { name: 'Invite 3 people' }).click();
  const refused = page.getByRole('listitem');
  await refused.filter({ hasText: 'nobody' }).waitFor();
  assert.equal(await refused.filter({ hasText: home.user.email }).count(), 1);
  // Whoever tries again is led to the reasons again.
  await addresses.fill(`ada@example.com, ${home.user.email}`);
  await page.getByRole('button', { name: 'Invite 2 people' }).click();
  await page.getByText('This one cannot be invited:').waitFor();
  await page.locator('.panel:focus').waitFor();
  await checkEverywhere(page, 'invites_refused');
  await page.getByRole('button', { name: 'Leave it out' }).click();
  assert.equal(await addresses.inputValue(), 'ada@example.com');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await page.getByText('1 invite created.').waitFor();
  await page.getByRole('button', { name: 'Withdraw' }).waitFor();
  await checkScale(page);
  await checkEverywhere(page, 'invites');
  const link = await world.server.linkIn('ada@example.com', 'Home');

  const guest = await world.visit();
  await guest.page.goto(link);
  await guest.page.getByRole('heading', { level: 1 }).waitFor();
  await guest.page.getByLabel('Password', { exact: true }).fill('tidal lamp orchid crust');
  await guest.page.getByRole('button', { name: /account|join/i }).click();
  await guest.page.waitForURL(`**/projects/${home.project.id}/events`);
  await guest.leave();
  await goTo(page, `/organizations/${home.organization.id}/members`);
  await page.getByRole('row').filter({ hasText: 'ada@example.com' }).waitFor();
  await leave();
});

test('a removed member learns of which organization', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: `Home ${hostile}` });
  const { user } = await world.harness.newMember(home.organization.id, 1);
  const visitor = await world.visit(user);
  const { page, leave } = visitor;
  await page.goto(`/organizations/${home.organization.id}/members`);
  await page.getByRole('heading', { name: 'Members of' }).waitFor();
  const told = page.getByText(`You are no longer a member of Home ${hostile}.`);
  assert.equal(await told.count(), 0);
  const path = `/api/organizations/${home.organization.id}/members/${user.uuid}/`;
  assert.equal((await home.ask('DELETE', path)).status, 204);
  await page.getByRole('link', { name: 'Activity' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  // Signed in again, they are led to the page that they were on.
  await giveSession(visitor, world.server, user);
  await page.reload();
  await told.waitFor();
  await checkEverywhere(page, 'member_removed');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await told.waitFor({ state: 'detached' });
  await leave();
});

test(
  'a person who leaves their only organization is signed out, as announced',
  { skip },
  async () => {
    const home = await world.harness.newOrganization({ name: 'Home' });
    const { user } = await world.harness.newMember(home.organization.id, 1);
    const { page, leave } = await world.visit(user);
    await page.goto(`/organizations/${home.organization.id}/members`);
    await page.getByRole('link', { name: /^Leave/ }).click();
    const button = { name: 'Leave the organization' };
    await page.getByRole('button', button).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('so you are signed out everywhere').waitFor();
    await dialog.getByRole('textbox').fill('Home');
    await dialog.getByRole('button', button).click();
    await page.waitForURL((url) => url.pathname === '/login');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    // Nothing failed, so nothing asks them to sign in again, for a page that is not theirs.
    assert.equal(new URL(page.url()).search, '');
    assert.equal(await page.getByText('to continue.').count(), 0);
    await leave();
  },
);
