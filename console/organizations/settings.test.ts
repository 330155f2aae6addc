import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { goTo } from '../../test/console/go_to.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { openConfigurations } from '../../test/factories/configurations.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { openConsole } from '../../test/console/open_console.ts';

let home: TestOrganization;
/** Whoever owns it, and sees all pages within one document. */
let visitor: Visitor;
// The forecast of what a project keeps is counted.
const world = openConsole({
  clickhouse: true,
  opened: async (harness) => {
    home = await harness.newOrganization({ name: 'Home' });
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
afterEach(async () => {
  assert.deepEqual(visitor?.complaints.splice(0) ?? [], []);
  // Two begin where one before them ended, and `goTo` waits for another page.
  if (visitor?.page.url().endsWith('/settings')) await goTo(visitor.page, '/account');
});
const hostile = `<img src=x onerror="document.title='taken'">`;

test('agents are forbidden to change anything, and allowed again', { skip }, async () => {
  const { page } = visitor;
  // Without a project that was looked at, the pages are those of the first one.
  await goTo(page, '/account');
  const project = page.getByRole('navigation', { name: 'Project' });
  await project.getByRole('link', { name: 'Exports' }).waitFor();
  await goTo(page, `/organizations/${home.organization.id}/settings`);
  const box = page.getByLabel('Agents may change nothing');
  for (const wanted of [true, false]) {
    await box.setChecked(wanted);
    await page.getByRole('button', { name: 'Save the organization' }).click();
    await page.getByText('The organization was saved.').waitFor();
    const path = `/api/organizations/${home.organization.id}/`;
    const { body } = await world.harness.request('GET', path, { key: home.key });
    assert.equal(body.forbids_agent_writes, wanted);
    await page.reload();
    assert.equal(await box.isChecked(), wanted);
  }
});

test(
  'a question stands in the middle of the window, without an old message',
  { skip },
  async () => {
    const { page } = visitor;
    await goTo(page, `/organizations/${home.organization.id}/settings`);
    const save = page.getByRole('button', { name: 'Save the organization' });
    await save.click();
    const told = page.getByText('The organization was saved.');
    await told.waitFor();
    await page.getByLabel('Members must use a second factor').check();
    await told.waitFor({ state: 'detached' });
    await save.click();
    for (const title of ['You have no second factor yet', 'Delete the organization?']) {
      const dialog = page.getByRole('dialog', { name: title });
      const { y, height } = (await dialog.boundingBox())!;
      const below = page.viewportSize()!.height - y - height;
      assert.ok(Math.abs(y - below) < 2, `${title}: ${y} above, ${below} below`);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.getByLabel('Members must use a second factor').uncheck();
      if (title.startsWith('You'))
        await page.getByRole('button', { name: 'Delete the organization' }).click();
    }
  },
);

test('a project is created, gets its zone, and is deleted by its name', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, `/organizations/${home.organization.id}/settings`);
  await page.getByText('New project').click();
  const created = page.locator('form', { hasText: 'Create the project' });
  await created.getByLabel('Name').fill(hostile);
  await created.getByRole('combobox').fill('Mars/Olympus');
  await created.getByRole('button').click();
  await page.getByText('Must be a name of the IANA time zone database').waitFor();
  assert.equal(await created.getByLabel('Name').inputValue(), hostile);
  await created.getByRole('combobox').fill('Europe/Berlin');
  await created.getByRole('button').click();
  await page.getByText('was created.').waitFor();
  await checkEverywhere(page, 'organization_settings');

  await page.getByRole('link', { name: hostile }).click();
  await page.getByRole('heading', { name: 'Project settings' }).waitFor();
  await checkEverywhere(page, 'project_settings', []);
  // Each form of the page keeps what was typed into it, and none that of another.
  await page.locator('[name=timezone]').fill('Mars/Olympus');
  await page.locator('[name=internal_addresses]').fill('nowhere');
  await page.reload();
  await page.getByText('This is what you typed before.').nth(1).waitFor();
  assert.equal(await page.locator('[name=timezone]').inputValue(), 'Mars/Olympus');
  assert.equal(await page.locator('[name=internal_addresses]').inputValue(), 'nowhere');
  await page.getByRole('button', { name: 'Discard what you typed' }).first().click();
  await page.getByText('This is what you typed before.').nth(1).waitFor({ state: 'detached' });
  assert.equal(await page.locator('[name=internal_addresses]').inputValue(), 'nowhere');
  const kept = page.locator('form', { hasText: 'Keep events' });
  await kept.getByText('Nothing is removed.').waitFor();
  // No field for days is shown while events are kept for ever.
  assert.equal(await kept.getByLabel('Days').isVisible(), false);
  // The form refuses a text that is no number of days, before it asks or counts anything.
  await kept.getByLabel('Keep events').selectOption('days');
  // The form never saves a text that is no number of days, nor a number without a question.
  for (const [days, wrong] of [
    ['0', 'Must be at least 1.'],
    ['a week', 'Must be a whole number.'],
    ['1e3', 'Must be a whole number.'],
  ] as const) {
    await kept.getByLabel('Days').fill(days);
    await kept.getByRole('button', { name: /^Save/ }).click();
    await kept.locator('[name=retention_days][aria-invalid=true]').waitFor();
    await kept.getByText(wrong).waitFor();
  }
  await kept.getByLabel('Days').fill('7');
  await kept.getByText(/would remove nothing now\. .* ingested before 20\d\d-/).waitFor();
  await kept.getByRole('button', { name: /^Save/ }).click();
  const asked = page.getByRole('dialog', { name: 'Remove older rows?' });
  await checkEverywhere(page, 'project_retention');
  await asked.getByRole('button', { name: 'Save, and remove them' }).click();
  await page.getByText('It was saved.').waitFor();
  await page.getByRole('button', { name: 'Delete the project' }).click();
  const end = page.getByRole('dialog', { name: 'Delete the project?' });
  // The rules of axe-core are asked of the removal of a member, whose question is the like.
  await checkEverywhere(page, 'project_deletion', []);
  await end.getByRole('textbox').fill(hostile);
  await end.getByRole('button', { name: 'Delete the project' }).click();
  await page.waitForURL('**/organizations/*/settings');
  await page.getByRole('link', { name: hostile }).waitFor({ state: 'detached' });
});

test('a save does not overwrite another person’s change', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, `/organizations/${home.organization.id}/settings`);
  const name = page.getByRole('textbox', { name: 'Name' }).first();
  const agents = page.getByLabel('Agents may change nothing');
  const save = page.getByRole('button', { name: 'Save the organization' });
  await name.fill('Mine');
  const path = `/api/organizations/${home.organization.id}/`;
  const key = home.key;
  const change = async (body: object) =>
    assert.equal((await world.harness.request('PATCH', path, { key, body })).status, 200);
  await change({ name: 'Theirs', forbids_agent_writes: true });
  await save.click();
  const told = page.getByRole('alert').filter({ hasText: 'changed' });
  await told.getByText(/“Name” and “Agents may change nothing” since you opened this/).waitFor();
  await page.getByText('Stored now: “Theirs”.').waitFor();
  // The typed name stays, the untouched field has the value of the other person, and saving works.
  assert.equal(await name.inputValue(), 'Mine');
  assert.equal(await agents.isChecked(), true);
  await checkEverywhere(page, 'changed_meanwhile', []);
  await save.click();
  await page.getByText('The organization was saved.').waitFor();
  const { body } = await world.harness.request('GET', path, { key });
  assert.deepEqual([body.name, body.forbids_agent_writes], ['Mine', true]);

  // A name in a right-to-left script begins on the right. Changes of fields that the form does not
  // show do not collide with it.
  await name.fill('שלום');
  assert.equal(await name.evaluate((field) => getComputedStyle(field).unicodeBidi), 'plaintext');
  await world.harness.request('PATCH', `/api/projects/${home.project.id}/`, {
    key,
    body: { name: 'Elsewhere' },
  });
  await save.click();
  await page.getByText('The organization was saved.').waitFor();
  await name.fill('Thrown away');
  await change({ name: 'Theirs', forbids_agent_writes: false });
  await save.click();
  await told.waitFor();
  await page.getByRole('button', { name: 'Discard what you typed' }).click();
  await page.locator('input[name=name][value=Theirs]').waitFor();
  await told.waitFor({ state: 'detached' });
});

test('a managed object says that a configuration manages it', { skip }, async () => {
  const config = await openConfigurations(world.harness);
  const { home } = config;
  const destination = { type: 'File', config: { prefix: 'rows' } };
  const batch_exports = { rows: { name: 'Rows', interval: 'day', destination } };
  const applied = await config.put(
    {
      organization: { name: 'As code' },
      projects: { default_project: { name: 'Default project', batch_exports } },
    },
    { source: { name: hostile, commit: 'c0ffee' } },
  );
  const { id } = applied.body.objects.find(({ kind }: any) => kind === 'batch_export');
  const { page, leave } = await world.visit(home.user);
  const note = page.getByRole('note');
  await page.goto(`/organizations/${home.organization.id}/settings`);
  await note.getByText(`The configuration ${hostile} manages this, at c0ffee`).waitFor();
  // Its style comes with this page, not with one that was looked at before.
  assert.equal(await note.evaluate((p) => getComputedStyle(p).borderLeftWidth), '3px');
  await goTo(page, `/projects/${home.project.id}/settings`);
  await note.getByText('manages this as default_project').waitFor();
  await goTo(page, `/projects/${home.project.id}/exports/${id}/settings`);
  await note.getByText('manages this as rows').waitFor();
  await goTo(page, `/projects/${home.project.id}/exports/${id}`);
  await note.getByText('manages this as rows').waitFor();
  await checkEverywhere(page, 'managed_export');
  const members = { own: { email: home.user.email, level: 15 } };
  const invites = { one: { target_email: 'invited@example.com' } };
  await config.put({ members, invites }, { people: true });
  for (const tab of ['', '?tab=invites']) {
    await goTo(page, `/organizations/${home.organization.id}/members${tab}`);
    await page.getByRole('img', { name: 'Managed by the configuration default' }).waitFor();
  }
  await checkEverywhere(page, 'managed_people', []);
  // A person who is locked out is led to the page where they add a second factor.
  const path = `/api/organizations/${home.organization.id}/`;
  const body = { enforce_2fa: true };
  await world.harness.request('PATCH', path, { key: home.key, body });
  await goTo(page, `/projects/${home.project.id}/events`);
  await page.getByRole('link', { name: 'Set one up in your account' }).first().click();
  await page.getByRole('button', { name: 'Set up a second factor' }).waitFor();
  await leave();
});
