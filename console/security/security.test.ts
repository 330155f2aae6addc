import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { goTo } from '../../test/console/go_to.ts';
import { openOneBrowser } from '../../test/console/open_console.ts';
import { checkEverywhere, focused, giveSession } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { addMember } from '../../test/factories/people/members.ts';
import { newPerson } from '../../test/factories/people/people.ts';
import { insertProvider } from '../../test/factories/people/provider_session.ts';

let visitor: Visitor;
let page: Page;
const world = openOneBrowser((opened) => {
  visitor = opened;
  page = opened.page;
});
const { skip } = world;
const section = (name: string) => page.getByRole('region', { name });
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

/** An organization, whose owner has just signed in, with a provider and a person outside of it. */
async function newHome() {
  const { harness } = world;
  const home = await harness.newOrganization({ name: 'Acme' });
  const { id: organization_id } = home.organization;
  const domain = await insertProvider(harness, organization_id);
  const inside = await newPerson(harness, { email: `ada@${domain.name}` });
  const outside = await newPerson(harness, { first_name: `<img src=x onerror="alert(1)">` });
  await addMember(harness.deps, organization_id, inside, 8);
  await addMember(harness.deps, organization_id, outside, 1);
  await giveSession(visitor, world.server, home.user);
  const api = `/api/organizations/${organization_id}/security/`;
  const read = async () => (await home.ask('GET', api)).body;
  return { home, inside, outside, read, path: `/organizations/${organization_id}/security` };
}

test('an owner asks all members for single sign-on, and exempts some', { skip }, async () => {
  const { home, outside, read, path } = await newHome();
  await page.goto(path);
  const members = section('Members outside your providers');
  const row = (email: string) => members.getByRole('row').filter({ hasText: email });
  await row(home.user.email).getByText('(you)').waitFor();
  assert.equal(await row(home.user.email).getByRole('button', { name: 'Remove' }).count(), 0);
  assert.equal(
    await members.getByRole('row').count(),
    3,
    'a head, the owner, and one from outside',
  );
  await checkEverywhere(page, 'security');

  // Nobody is locked out unasked, and no owner locks out themselves.
  await page.getByLabel('Members sign in through your provider only').check();
  await press('Save single sign-on');
  const asked = page.getByRole('dialog', { name: 'Lock out 2 members?' });
  await asked.getByText(outside.email).waitFor();
  await checkEverywhere(page, 'security_lockout');
  await asked.getByRole('button', { name: 'Back to the form' }).click();
  await press('Save single sign-on');
  await asked.getByRole('button', { name: 'Lock out 2 members' }).click();
  await page.getByText('This change would shut you out').waitFor();
  assert.equal((await read()).requires_sso, false);

  await press(`Exempt ${home.user.email}`);
  await members.getByText(`${home.user.email} is exempt.`).waitFor();
  await row(home.user.email).getByText('Exempt', { exact: true }).first().waitFor();
  await press('Save single sign-on');
  await page
    .getByRole('dialog', { name: 'Lock out 1 member?' })
    .getByRole('button', { name: 'Lock out 1 member' })
    .click();
  await section('Single sign-on').getByText('Saved.').waitFor();
  await row(outside.email).getByText('Locked out').waitFor();
  await checkEverywhere(page, 'security_required');
  const required = await read();
  assert.deepEqual([required.requires_sso, required.exempt_members], [true, [home.user.uuid]]);

  await press(`Exempt ${outside.email}`);
  await press(`End exemption of ${outside.email}`);
  await members.getByText(`${outside.email} is no longer exempt.`).waitFor();
  await press(`Remove ${outside.email}`);
  const removal = page.getByRole('dialog', { name: `Remove ${outside.email}?` });
  await removal.getByRole('textbox').fill(outside.email);
  await removal.getByRole('button', { name: 'Remove' }).click();
  await members.getByText(`${outside.email} was removed.`).waitFor();
  await row(outside.email).waitFor({ state: 'detached' });
  assert.deepEqual(
    (await read()).outside_members.map(({ email }: { email: string }) => email),
    [home.user.email],
  );
});

test('accepted providers, session limits and ranges are saved or refused', { skip }, async () => {
  const { home, read, path } = await newHome();
  const partner = await world.harness.newOrganization();
  const domain = await insertProvider(world.harness, partner.organization.id);
  await page.goto(path);
  const accepted = page.getByLabel('Accepted providers');
  await accepted.fill('nobody.example');
  await page.getByLabel('The provider’s sign-in counts as a second factor').check();
  await press('Save single sign-on');
  await page.getByText('No other organization of this server has a verified domain').waitFor();
  assert.match(await focused(page), /^Accepted providers: /);
  await accepted.fill(` ${domain.name}\n\n`);
  await press('Save single sign-on');
  await section('Single sign-on').getByText('Saved.').waitFor();

  const [hours, minutes] = ['Longest session, in hours', 'Longest idle time, in minutes'] as const;
  for (const [label, wrong] of [
    [hours, 'a day'],
    [hours, '721'],
    [minutes, '4'],
  ] as const) {
    await page.getByLabel(label).fill(wrong);
    await press('Save session limits');
    await page.locator('[aria-invalid=true]').waitFor();
    assert.match(await focused(page), new RegExp(`^${label}: `), wrong);
    await page.getByLabel(label).fill('60');
  }
  await press('Save session limits');
  await section('Sessions').getByText('Saved.').waitFor();

  const ranges = page.getByLabel('Allowed IP ranges');
  await ranges.fill('203.0.113.0/99');
  await press('Save IP ranges');
  await section('Network').locator('[aria-invalid=true]').waitFor();
  await ranges.fill('203.0.113.0/24');
  await press('Save IP ranges');
  await page.getByText('Your own address, 127.0.0.1, is in none of the ranges').waitFor();
  await checkEverywhere(page, 'security_refused');
  await ranges.fill('203.0.113.0/24\n127.0.0.0/8');
  await press('Save IP ranges');
  await section('Network').getByText('Saved.').waitFor();
  const { outside_members: _, ...saved } = await read();
  assert.deepEqual(saved, {
    provider_is_second_factor: true,
    requires_sso: false,
    session_hours_max: 60,
    idle_minutes_max: 60,
    allowed_ip_ranges: ['203.0.113.0/24', '127.0.0.0/8'],
    accepted_providers: [domain.name],
    exempt_members: [],
  });
  await goTo(page, `/organizations/${home.organization.id}/activity`);
  await page.getByText('Security of the organization').filter({ visible: true }).first().waitFor();
});

test('administrators read it, and members read by whom it is seen', { skip }, async () => {
  const { inside, outside, path } = await newHome();
  await giveSession(visitor, world.server, inside);
  await page.goto(path);
  await page.getByText('Only owners of the organization can change this').waitFor();
  await page.getByLabel('Allowed IP ranges').waitFor();
  await section('Members outside your providers').getByText(outside.email).waitFor();
  assert.equal(await page.locator('main form').count(), 0);
  await checkEverywhere(page, 'security_read');

  await giveSession(visitor, world.server, outside);
  await page.goto(path);
  await page.getByText('Only administrators of the organization can see this').waitFor();
  assert.equal(await page.getByLabel('Allowed IP ranges').count(), 0);
});
