import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { projectBase } from '../factories/batch_exports/batch_exports.ts';
import { insertEvents } from '../factories/batch_exports/delivering_harness.ts';
import { newPerson, password } from '../factories/people/people.ts';
import type { TestOrganization } from '../harness.ts';
import { goTo } from './go_to.ts';
import { pressByKey, tabTo, typeInto } from './keyboard.ts';
import { openConsole } from './open_console.ts';
import { untilInPage } from './visitor.ts';
import type { Visitor } from './visitor.ts';

let home: TestOrganization;
/** Whoever has an organization; their browser is everybody's here, one after the other. */
let visitor: Visitor;
const world = openConsole({
  clickhouse: true,
  opened: async (harness) => {
    home = await harness.newOrganization();
    await insertEvents(harness, home);
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

test('a record is looked for by keyboard alone', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/exports`);
  await page.getByText('No exports').waitFor();
  await pressByKey(page, 'Find a record');
  await page.waitForURL('**/find');
  await typeInto(page, /uuid/i, randomUUID());
  await page.keyboard.press('Enter');
  await page
    .getByRole('status')
    .filter({ hasText: /stored/ })
    .waitFor();
});

test('an export is created by keyboard alone', { skip }, async () => {
  const { page } = visitor;
  // All others begin at a new document, from where Tab passes the navigation.
  await goTo(page, `/projects/${home.project.id}/exports`);
  await page.getByText('No exports').waitFor();
  await pressByKey(page, 'New export');
  await page.waitForURL('**/exports/new');
  await page.getByLabel('Destination').waitFor();
  await typeInto(page, 'Name', 'By keys');
  // Typing finds a destination, and Enter takes the first.
  await typeInto(page, 'Destination', 'nowhere');
  await page.keyboard.press('Enter');
  await untilInPage(page, "document.activeElement.textContent === 'Change destination'");
  await tabTo(page, 'Interval');
  await page.keyboard.press('ArrowDown');
  await pressByKey(page, 'Test connection');
  await page.getByText('The test passed.').waitFor();
  await pressByKey(page, 'Create export');
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  const { body } = await home.ask('GET', projectBase(home));
  assert.deepEqual(
    [body.results[0].name, body.results[0].destination.type, body.results[0].interval],
    ['By keys', 'NoOp', 'day'],
  );
});

test('people are invited, and an invite is withdrawn, by keyboard alone', { skip }, async () => {
  const { page } = visitor;
  await page.goto(`/organizations/${home.organization.id}/members?tab=invites`);
  await page.getByText('No open invites').waitFor();
  await pressByKey(page, 'Invite people');
  await typeInto(page, 'Addresses', 'ada@example.com');
  await tabTo(page, 'Level');
  await page.keyboard.press('ArrowDown');
  await pressByKey(page, 'Invite');
  await page.getByText('1 invite created.').waitFor();
  await pressByKey(page, 'Withdraw the invite of ada@example.com');
  await page.getByRole('dialog').waitFor();
  // The focus is where nothing happens by accident.
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Keep the invite');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.match(await page.evaluate<string>('document.activeElement.textContent'), /^Withdraw/);
  await page.keyboard.press('Enter');
  await pressByKey(page, 'Withdraw the invite');
  await page.getByText('was withdrawn.').waitFor();
  await page.getByText('No open invites').waitFor();
});

test('a key is created, rotated and revoked by keyboard alone', { skip }, async () => {
  const person = await newPerson(world.harness);
  const { page } = visitor;
  await visitor.forget();
  await page.goto('/login?next=/account');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await typeInto(page, 'E-mail address', person.email);
  await typeInto(page, 'Password', password);
  await page.keyboard.press('Enter');
  await page.getByText(`You are signed in as ${person.email}`).waitFor();
  const keys = page.getByRole('region', { name: 'Personal API keys' });
  const shown = keys.locator('.panel code');
  const works = async (key: string | null) =>
    (await world.harness.request('GET', '/api/personal_api_keys/@current/', { key: key! })).status;
  await pressByKey(page, 'Create a key');
  await typeInto(page, 'Name of the key', 'Keys');
  await tabTo(page, /^user:read/);
  await page.keyboard.press('Space');
  await pressByKey(page, 'Create the key');
  await keys.getByText('It is shown once').waitFor();
  const first = await shown.textContent();
  assert.equal(await works(first), 200);
  await pressByKey(page, 'Rotate this key');
  await tabTo(page, 'The old key works');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await pressByKey(page, 'Rotate key “Keys”');
  await keys.getByText('The key was rotated.').waitFor();
  const second = await shown.textContent();
  assert.notEqual(second, first);
  assert.deepEqual([await works(first), await works(second)], [401, 200]);
  await pressByKey(page, 'Revoke the key Keys');
  await pressByKey(page, 'Revoke the key');
  await keys.getByText('The key was revoked.').waitFor();
});
