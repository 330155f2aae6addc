import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { chooseDestination } from '../../../test/console/choose_destination.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import type { Visitor } from '../../../test/console/visitor.ts';
import { projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { addColumns } from '../../../server/engine/model/schema/store.ts';

let home: TestOrganization;
let visitor: Visitor;
const world = openConsole({
  clickhouse: true,
  opened: async (harness) => {
    home = await harness.newOrganization();
    const wanted = [{ source: 'event', property: 'plan', type: 'text' }] as const;
    await harness.deps.db.transaction((tx) => addColumns(tx, home.project.id, wanted, null));
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

test('the properties of an export become columns, and new ones wait', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/exports/new`);
  await chooseDestination(page, 'Nowhere');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Columns');
  await page.getByLabel('Properties', { exact: true }).selectOption('typed');
  await page.getByLabel('New properties', { exact: true }).selectOption('wait');
  await page.getByRole('textbox', { name: 'Accepted schema' }).fill('7');
  await page.getByRole('button', { name: 'Create export', exact: true }).click();
  await page.locator('[name=schema_number][aria-invalid=true]').waitFor();
  await checkEverywhere(page, 'typed_columns');
  await page.getByRole('textbox', { name: 'Accepted schema' }).fill('');
  await page.getByRole('button', { name: 'Create export', exact: true }).click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}/);
  const { body } = await home.ask('GET', projectBase(home));
  const [{ columns, new_columns, schema_number }] = body.results;
  assert.deepEqual([columns, new_columns, schema_number], ['typed', 'wait', 1]);
});

test('a newer schema waits on the page of its export, and a press takes it', { skip }, async () => {
  const { page } = visitor;
  const wanted = [{ source: 'event', property: 'total', type: 'float' }] as const;
  await world.harness.deps.db.transaction((tx) => addColumns(tx, home.project.id, wanted, null));
  await page.reload();
  const note = page.getByRole('region', { name: 'A newer schema' });
  await note.getByText('It adds 1 column: p_total (float)').waitFor();
  await checkEverywhere(page, 'waiting_schema');
  await note.getByRole('button', { name: 'Take schema 2' }).click();
  await note.waitFor({ state: 'detached' });
  const { body } = await home.ask('GET', projectBase(home));
  assert.deepEqual([body.results[0].schema_number, body.results[0].waiting_schema], [2, null]);
});
