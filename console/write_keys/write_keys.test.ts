import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import type { TestOrganization } from '../../test/harness.ts';

let home: TestOrganization;
let visitor: Visitor;
const world = openConsole({
  clickhouse: true,
  opened: async (harness) => {
    home = await harness.newOrganization({ name: 'Home' });
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));
const hostile = `<img src=x onerror="document.title='taken'">`;

test('a key for events is created, renamed, rotated and revoked', { skip }, async () => {
  const { page } = visitor;
  const list = `/api/projects/${home.project.id}/write_keys/`;
  const stored = async () =>
    (await world.harness.request('GET', list, { key: home.key })).body.results as {
      name: string;
      value: string;
      expires_at: string | null;
    }[];
  await goTo(page, `/projects/${home.project.id}/settings`);
  const section = page.getByRole('region', { name: 'Keys for sending events' });
  await section.getByText(home.project.api_token).waitFor();

  await section.getByText('Create a key', { exact: true }).click();
  const create = section.getByRole('button', { name: 'Create the key' });
  await create.click();
  await section.getByText('This field may not be blank').or(section.getByRole('alert')).waitFor();
  await section.getByLabel('Where it is used').fill('Shop');
  await create.click();
  await section.getByText('The key was created.').waitFor();
  const [first] = await stored();
  await section.getByText(first!.value).waitFor();

  await section.getByText('Rename it').click();
  const renamed = section.locator('form', { hasText: 'Rename' });
  await renamed.getByLabel('Where it is used').fill(hostile);
  await renamed.getByRole('button').click();
  await section.getByText('The key was renamed.').waitFor();
  assert.equal((await stored())[0]!.name, hostile);

  await section.getByText('Rotate this key').click();
  await section.getByLabel('The old key works').selectOption('86400');
  await section.getByRole('button', { name: /^Rotate key/ }).click();
  await section.getByText('The key was rotated.').waitFor();
  const [second, old] = await stored();
  assert.deepEqual([old!.value, second!.expires_at], [first!.value, null]);
  assert.ok(old!.expires_at !== null);
  await section.getByText('was replaced, and works until').waitFor();
  await checkEverywhere(page, 'write_keys');

  await section
    .getByRole('listitem')
    .filter({ hasText: old!.value })
    .getByRole('button', { name: /^Revoke/ })
    .click();
  const asked = page.getByRole('dialog', { name: `Revoke the key “${hostile}”?` });
  await asked.getByRole('button', { name: 'Revoke the key' }).click();
  await section.getByText('The key was revoked.').waitFor();
  await section.getByText(old!.value).waitFor({ state: 'detached' });
  assert.deepEqual(
    (await stored()).map(({ value }) => value),
    [second!.value],
  );
});
