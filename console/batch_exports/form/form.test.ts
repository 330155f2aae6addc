// Length: one console, opened once, walks through each form.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chooseDestination } from '../../../test/console/choose_destination.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { checkEverywhere, untilInPage } from '../../../test/console/visitor.ts';
import type { Visitor } from '../../../test/console/visitor.ts';
import { is_deep } from '../../../test/depth.ts';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { insertEvents } from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import { openS3Server } from '../../../test/servers/object_stores/s3_server.ts';
import type { S3Server } from '../../../test/servers/object_stores/s3_server.ts';
import { openConsole } from '../../../test/console/open_console.ts';

let warehouse: PostgresServer;
let lake: S3Server;
let home: TestOrganization;
/** Whoever fills the forms in, all of them within one document. */
let visitor: Visitor;
const world = openConsole({
  clickhouse: true,
  opened: async (harness) => {
    [warehouse, lake] = await Promise.all([openPostgresServer(), openS3Server(['lake'])]);
    home = await harness.newOrganization();
    await insertEvents(harness, home);
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => {
    await visitor?.close();
    await Promise.all([warehouse.close(), lake.close()]);
  },
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

const hostile = `<img src=x onerror="document.title='taken'"> & "more"`;
const stored = (id: string) =>
  world.server.harness.request('GET', `${projectBase(home)}${id}/`, { key: home.key });
const fill = (page: Page, label: string, value: string) =>
  page.getByRole('textbox', { name: label, exact: true }).fill(value);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('an export to Postgres is tested until it passes, previewed, created', { skip }, async () => {
  const config = await warehouse.freshConfig();
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/exports/new`);
  await button(page, 'Create export').click();
  await page.getByText('Choose a destination.').waitFor();
  await chooseDestination(page, 'PostgreSQL');
  await page.getByText('Choose a destination.').waitFor({ state: 'detached' });
  if (is_deep) await checkEverywhere(page, 'new_export');
  await button(page, 'Create export').click();
  await page.locator('[name=destination__config__user][aria-invalid=true]').waitFor();
  await fill(page, 'User', config.user);
  await page.locator('[name=destination__config__user]:not([aria-invalid=true])').waitFor();
  await fill(page, 'Host', config.host);
  await fill(page, 'Port', 'many');
  await fill(page, 'Database', config.database);
  await fill(page, 'Schema', config.schema);
  await page.getByLabel('If the destination refuses a row').selectOption('set_aside');
  await fill(page, 'Maximum refused rows', '50');
  await page.getByLabel('Allow self-signed certificates').check();
  await page.getByLabel('Password', { exact: false }).first().fill('wrong');
  await button(page, 'Test connection').click();
  const port = page.getByRole('textbox', { name: 'Port', exact: true });
  await page.locator('[name=destination__config__port][aria-invalid=true]').waitFor();
  assert.equal(await port.inputValue(), 'many', 'what was typed stays');
  await port.fill('1');
  await button(page, 'Test connection').click();
  await page.getByText('The test failed at').waitFor();
  await checkEverywhere(page, 'new_export_failed_test');

  // A reload loses nothing but the secrets.
  await fill(page, 'Name', `To the warehouse ${hostile}`);
  await page.reload();
  await page.getByRole('textbox', { name: 'Schema', exact: true }).waitFor();
  assert.equal(
    await page.getByRole('textbox', { name: 'Schema', exact: true }).inputValue(),
    config.schema,
  );
  const secret = page.locator('[name=destination__config__password]');
  assert.equal(await secret.inputValue(), '');
  assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /wrong/);
  await secret.fill(config.password);
  await port.fill(String(config.port));
  await button(page, 'Test connection').click();
  await page.getByText('The test passed.').waitFor();
  const rows = page.getByRole('region', { name: 'The oldest rows' });
  await rows.getByRole('cell', { name: 'event 0' }).waitFor();
  assert.equal(await rows.getByRole('row').count(), 11, 'ten rows under their names');
  await page.getByRole('tab', { name: 'Final bytes' }).click();
  const bytes = page.getByRole('region', { name: 'The first rows in their delivered form' });
  assert.match((await bytes.textContent())!, /\tevent 0\t/);
  await checkEverywhere(page, 'new_export_tested');
  await button(page, 'Create export').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  await page.getByRole('heading', { name: hostile }).waitFor();
  const id = page.url().split('/').at(-1)!;
  const { body } = await stored(id);
  assert.deepEqual(
    [body.name, body.interval, body.destination.config.port, body.destination.config.schema],
    [`To the warehouse ${hostile}`, 'hour', config.port, config.schema],
  );
  assert.deepEqual(
    [body.rejected_rows, body.rejected_rows_max, body.rejected_percent_max],
    ['set_aside', 50, 10],
  );
});

test('an export to S3 is tested until its key is right, and created', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/exports/new`);
  await chooseDestination(page, 'S3');
  await fill(page, 'Name', 'To the lake');
  const field = (key: string) => page.locator(`[name=destination__config__${key}]`);
  const exampleColor = (key: string) =>
    field(key).evaluate((one) => getComputedStyle(one, '::placeholder').color);
  const color = await exampleColor('bucket_name');
  await button(page, 'Create export').click();
  await page.locator('[name=destination__config__bucket_name][aria-invalid=true]').waitFor();
  assert.equal(await exampleColor('bucket_name'), color, 'an example is no wrong value');
  if (is_deep) await checkEverywhere(page, 'new_export_empty');
  await field('bucket_name').fill('lake');
  await field('region').fill('us-east-1');
  await field('prefix').fill('events');
  await page.getByText('Advanced').click();
  await field('endpoint_url').fill(lake.endpoint);
  await field('aws_access_key_id').fill(lake.access_key);
  const secret = field('aws_secret_access_key');
  await secret.fill('wrong');
  await button(page, 'Test connection').click();
  await page.getByText('The test failed at').waitFor();
  await secret.fill(lake.secret_key);
  const is_old = page.getByText('You changed the form since then: test it again.');
  await is_old.waitFor();
  await button(page, 'Test connection').click();
  await page.getByText('The test passed.').waitFor();
  assert.equal(await is_old.count(), 0);
  await page.getByRole('region', { name: 'The oldest rows' }).waitFor();
  await field('prefix').fill('events/new');
  await is_old.waitFor();
  await button(page, 'Create export').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  const { body } = await stored(page.url().split('/').at(-1)!);
  assert.deepEqual([body.name, body.destination.config.bucket_name], ['To the lake', 'lake']);
});

test('a query is completed, and its faults stand at their place', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/exports/new`);
  await chooseDestination(page, 'Nowhere');
  await fill(page, 'Name', 'By query');
  await page.getByLabel('Columns').selectOption('query');
  const editor = page.locator('.cm-content');
  await editor.waitFor();
  const write = async (text: string) => {
    await editor.press('ControlOrMeta+a');
    await page.keyboard.press('Backspace');
    await page.keyboard.insertText(text);
  };
  await write('SELECT evnt FROM events');
  await page.getByText('Line 1, column 8: ').waitFor();
  assert.equal(await page.locator('.cm-lintRange-error').textContent(), 'evnt');
  await checkEverywhere(page, 'query_faults');
  await button(page, 'Create export').click();
  await page.locator('.cm-content[aria-invalid=true]').waitFor();
  await write('SELECT ');
  await editor.press('End');
  await editor.pressSequentially('toFlo');
  await page
    .getByRole('option', { name: /^toFloat64/ })
    .first()
    .waitFor();
  await page.keyboard.press('Escape');
  // Over coloured text the browser would write a style of its own, which the policy refuses.
  await editor.press('ControlOrMeta+a');
  await editor.pressSequentially('SELECT even');
  await page.getByRole('option', { name: /^events/ }).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await editor.textContent(), 'SELECT even');
  await write('SELECT uuid, properties.plan AS plan FROM events');
  await page.getByText('2 columns: uuid (uuid), plan (text)').waitFor();
  if (is_deep) await checkEverywhere(page, 'query');
  await button(page, 'Create export').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  const { body } = await stored(page.url().split('/').at(-1)!);
  assert.equal(body.custom_query, 'SELECT uuid, properties.plan AS plan FROM events');
});

test('an edit keeps secrets, asks for them again, and says what restarts', { skip }, async () => {
  const created = await newExport(home, {
    name: hostile,
    destination: {
      type: 'Postgres',
      config: { user: 'u', password: 'kept', host: 'one.example.com', database: 'd' },
    },
  });
  await insertRunRow(world.server.harness, created.id, { status: 'Completed', total: 1_234 });
  const { page } = visitor;
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postData() ?? '');
  });
  const edit = `/projects/${home.project.id}/exports/${created.id}/settings`;
  await goTo(page, edit);
  await fill(page, 'Name', 'Renamed');
  // A double click before the question about the change is answered saves once.
  await button(page, 'Save changes').dblclick();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  assert.deepEqual(
    sent.map((text) => JSON.parse(text) as unknown),
    [{ name: 'Renamed' }],
  );

  await goTo(page, edit);
  await fill(page, 'Host', 'two.example.com');
  await page.getByText('because you changed Host. Enter it again.').waitFor();
  // A route of its own, and faults of fields: others ask the rules of axe-core for both.
  await checkEverywhere(page, 'edit_export', []);
  await Promise.all([
    page.waitForResponse((one) => one.url().endsWith('/test/') && one.status() === 400),
    button(page, 'Save changes').click(),
  ]);
  const secret = page.locator('[name=destination__config__password][aria-invalid=true]');
  await secret.waitFor();
  const again = page.locator('[name=destination__config__password]');
  await again.fill('lost');
  await page.reload();
  await page.getByText('This is what you typed before. Secrets are not kept').waitFor();
  await page.getByText('Your entry was not kept. Enter it again.').waitFor();
  if (is_deep) await checkEverywhere(page, 'edit_export_kept', []);
  await again.fill('new');
  await page.getByText('Secrets are not kept').waitFor({ state: 'detached' });
  await button(page, 'Save changes').click();
  await button(page, 'Save anyway').click();
  const dialog = page.getByRole('dialog', { name: 'This restarts the export' });
  await dialog.getByText('table public.events in d at two.example.com').waitFor();
  const stay = '1,234 delivered rows stay in table public.events in d at one.example.com.';
  await dialog.getByText(stay).waitFor();
  await checkEverywhere(page, 'edit_export_anew');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await untilInPage(page, "document.activeElement.textContent === 'Save anyway'");
  assert.equal((await stored(created.id)).body.destination.config.host, 'one.example.com');
  await button(page, 'Save anyway').click();
  await dialog.getByLabel('Also deliver the existing rows to the new place').check();
  await button(page, 'Save and restart').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  assert.equal((await stored(created.id)).body.destination.config.host, 'two.example.com');
  const backfills = `${projectBase(home)}${created.id}/backfills/`;
  const [{ by, start_at, end_at }] = (await home.ask('GET', backfills)).body.results;
  const delivered = ['inserted_at', '2026-01-01T00:00:00.000000Z', '2026-01-01T01:00:00.000000Z'];
  assert.deepEqual([by, start_at, end_at], delivered);

  // The form asks only for a stored optional secret again, and offers to remove only that.
  const { id } = await newExport(home, {
    destination: { type: 'HTTP', config: { url: 'https://one.example.com', token: 'kept' } },
  });
  await goTo(page, `/projects/${home.project.id}/exports/${id}/settings`);
  await fill(page, 'URL', 'https://two.example.com');
  await page.getByText(/because you changed URL\. Enter it again or remove it\./).waitFor();
  assert.equal(await page.getByRole('checkbox', { name: /^Remove / }).count(), 1);
  await page.getByRole('checkbox', { name: 'Remove Bearer token' }).check();
  await button(page, 'Save changes').click();
  await button(page, 'Save anyway').click();
  await button(page, 'Save and restart').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);

  // A change by somebody else is not undone.
  await goTo(page, edit);
  await fill(page, 'Name', 'Mine');
  const path = `${projectBase(home)}${created.id}/`;
  const change = (body: object) =>
    world.server.harness.request('PATCH', path, { key: home.key, body });
  await change({ name: 'Theirs', interval: 'day', destination: { config: { schema: 's' } } });
  await button(page, 'Save changes').click();
  await page.getByText('changed “Name”, “Schema” and “Interval” since').waitFor();
  await page.getByText('Stored now: “Theirs”.').waitFor();
  assert.equal(await page.getByLabel('Interval').inputValue(), 'day');
  assert.equal((await stored(created.id)).body.name, 'Theirs');
  await button(page, 'Save changes').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  const { name, interval, destination } = (await stored(created.id)).body;
  assert.deepEqual([name, interval, destination.config.schema], ['Mine', 'day', 's']);

  await goTo(page, edit);
  await fill(page, 'Name', 'Not mine');
  await change({ name: 'Theirs' });
  await button(page, 'Save changes').click();
  await page.getByText('changed “Name” since').waitFor();
  await button(page, 'Discard what you typed').click();
  await page.locator('input[name=name][value=Theirs]:focus').waitFor();
  await fill(page, 'Name', 'Mine after theirs');
  await button(page, 'Save changes').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
});
