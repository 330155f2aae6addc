// Length: one browser walks through all pages of plugins.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { goTo } from '../../test/console/go_to.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { is_deep } from '../../test/depth.ts';
import { packageFiles } from '../../test/factories/plugins/plugins.ts';
import { stopConfig } from '../../server/engine/plugins/running/stop_config.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { openPluginRegistry } from '../../test/servers/plugin_registry.ts';
import type { PluginRegistry } from '../../test/servers/plugin_registry.ts';
import { openConsole } from '../../test/console/open_console.ts';

const hostile = `<img src=x onerror="document.title='taken'">`;
let registry: PluginRegistry;
const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
const plugin_catalogue = join(folder, 'catalogue.json');
const entry = {
  name: 'Listed',
  description: `Listed ${hostile}`,
  url: 'listed',
  collection: 'pipeline_destinations',
  maintainer: 'official',
};
writeFileSync(plugin_catalogue, JSON.stringify([entry]));
let home: TestOrganization;
/** Whoever has plugins, and sees all pages within one document. */
let visitor: Visitor;
const world = openConsole({
  clickhouse: true,
  prepare: async () => {
    registry = await openPluginRegistry();
    return { config: { npm_registry_url: registry.endpoint, plugin_catalogue } };
  },
  opened: async (harness) => {
    home = await harness.newOrganization();
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => {
    await visitor?.close();
    await Promise.all([registry.close(), rm(folder, { recursive: true })]);
  },
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

const file = (name: string, text: string) => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.from(text),
});
const manifest = JSON.stringify({
  name: hostile,
  main: 'index.ts',
  config: [
    { key: 'host', name: `Host ${hostile}`, type: 'string', required: true },
    { key: 'token', name: 'Token', type: 'string', secret: true },
  ],
});

test('own code is sent, set up, and switched on', { skip }, async () => {
  const { page } = visitor;
  const uuid = crypto.randomUUID();
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    events: [{ uuid, event: 'page viewed', distinct_id: 'ada' }],
  });
  await goTo(page, `/projects/${home.project.id}/plugins`);
  await page.getByText(/as they arrive\. Install one/).waitFor();
  // The plugins to install are shown at once, but no filter while none is installed.
  await page.getByText(`Listed ${hostile}`).waitFor();
  assert.equal(await page.getByLabel('Which plugins').count(), 0);
  await page.getByText('From an address').first().click();
  await page.getByLabel('Address').fill('ftp://example.com/x');
  await page.getByRole('button', { name: 'Install from an address' }).click();
  await page.locator('[aria-invalid=true]').waitFor();
  await checkEverywhere(page, 'plugins');
  await page.getByText('Your own code', { exact: true }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine');
  await page.getByRole('button', { name: 'Create plugin' }).click();
  await page.getByRole('heading', { name: 'Code of Mine', level: 1 }).waitFor();

  // A fault is shown at its place while the code is typed, and is gone once it is mended.
  const code = page.locator('.cm-content');
  const template = await code.innerText();
  assert.match(template, /export async function onEvent/);
  await code.fill('export function onEvent(event) {\n  const a = ;\n}');
  await page.getByText(/Line 2, column \d+: /).waitFor();
  await page.locator('.cm-lint-marker-error').waitFor();
  await checkEverywhere(page, 'plugin_code_fault');
  await code.fill(
    `export async function onEvent(event, { config }) {
  console.log('seen ' + event.event);
  await fetch(config.address, { method: 'POST', body: event.event });
}`,
  );
  await page.getByText(/Line 2, column \d+: /).waitFor({ state: 'detached' });
  // It runs with the event that the project has, and sends nothing.
  const attempt = page.getByRole('region', { name: 'Try and look up' });
  await attempt.getByLabel('Event', { exact: true }).selectOption(uuid);
  await attempt.getByRole('button', { name: 'Run' }).click();
  await attempt.getByText(/It made 1 request\. Sluice did not send it\./).waitFor();
  await attempt.getByText('POST https://api.example.com/events: not sent').waitFor();
  await attempt.getByText('seen page viewed').waitFor();
  await checkEverywhere(page, 'plugin_code_tried');
  // Typed code outlives a reload, until it is saved.
  await page.reload();
  await page.getByText('Not saved yet.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The code was saved.').waitFor();
  await page.getByText('Everything is saved.').waitFor();

  await page.getByText('Add or remove files').click();
  await page.locator('input[type=file]').setInputFiles([file('plugin.json', manifest)]);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('heading', { name: `Code of ${hostile}`, level: 1 }).waitFor();
  await page.getByRole('link', { name: /^Settings, log and versions/ }).click();
  await page.getByRole('heading', { name: hostile, level: 1 }).waitFor();
  // The code before is a way back, with the lines that would change.
  const version = page.getByRole('region', { name: 'Version' });
  await version.getByText('Go back to the previous code').click();
  await version.getByRole('button', { name: 'Show what going back changes' }).click();
  await version.getByText('Lines of plugin.json').waitFor();

  await page.getByLabel('Switched on').check();
  await page.getByLabel('Token').fill('secret-value');
  await page.getByRole('button', { name: 'Save the settings' }).click();
  await page.locator('[aria-invalid=true]').waitFor();
  const host = page.getByLabel(`Host ${hostile}`);
  assert.equal(await host.getAttribute('aria-invalid'), 'true');
  await host.fill('api.example.com');
  await page.getByRole('button', { name: 'Save the settings' }).click();
  await page.getByText('The settings were saved.').waitFor();
  await page.getByText('No lines.').waitFor();
  await checkEverywhere(page, 'plugin');
  const here = page.getByRole('region', { name: 'In this project' });
  await here.getByText('● On', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('Empty: it stays.').waitFor();
  assert.equal(await host.inputValue(), 'api.example.com');
  assert.equal(await page.getByLabel('Token').inputValue(), '');
  const { body } = await world.harness.request(
    'GET',
    `/api/projects/${home.project.id}/plugin_configs/`,
    { key: home.key },
  );
  const [config] = body.results as { id: number; enabled: boolean; secret_keys: string[] }[];
  assert.deepEqual([config!.enabled, config!.secret_keys], [true, ['token']]);

  // Sluice stops it while the page is open: the head agrees with the log, and says no more that
  // something was saved.
  await here.getByLabel('Order').fill('1');
  await page.getByRole('button', { name: 'Save the settings' }).click();
  await page.getByText('The settings were saved.').waitFor();
  await stopConfig(world.harness.deps, config!.id, 'Stopped after 10 failures in a row: no.');
  await page
    .getByRole('region', { name: 'Log' })
    .getByText('Stopped after 10 failures in a row: no.')
    .waitFor();
  await here.getByText(/Stopped by Sluice .*Stopped after 10 failures in a row: no\./).waitFor();
  assert.equal(await page.getByText('The settings were saved.').count(), 0);
  await checkEverywhere(page, 'plugin_stopped');
  await here.getByRole('button', { name: 'Switch on again' }).click();
  await here.getByText('● On', { exact: true }).waitFor();
});

/** A package of the catalogue with settings that hang on each other, a file, a job and a metric. */
function publish(): void {
  const config = [
    { key: 'mode', name: 'Mode', type: 'choice', choices: ['plain', 'signed'], default: 'plain' },
    { key: 'key', name: 'Key of it', required: true, visible_if: [['mode', 'signed']] },
    { key: 'table', name: 'Table', type: 'attachment' },
  ];
  const publicJobs = { again: { payload: { count: { type: 'number', title: 'How many' } } } };
  const code = `export const metrics = { seen: 'sum' };
    export const jobs = { again: (payload, { metrics }) => metrics.seen.increment(payload.count) };
    export function onEvent() {}`;
  const shown = { name: 'Listed', config, publicJobs };
  registry.publish(
    'listed',
    '1.0.0',
    packageFiles('pipeline_destinations', shown, { 'index.ts': code }),
  );
  const later = { ...shown, config: [...config, { key: 'more', name: 'More', required: true }] };
  registry.publish(
    'listed',
    '2.0.0',
    packageFiles('pipeline_destinations', later, { 'index.ts': `${code}\n`, 'lib/a.ts': '' }),
  );
}

test('from the catalogue to an upgrade that is looked at before, and back', { skip }, async () => {
  publish();
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/plugins`);
  await page.getByText(`Listed ${hostile}`).waitFor();
  await page.getByRole('button', { name: 'Install Listed' }).click();
  await page.getByRole('heading', { name: 'Listed', level: 1 }).waitFor();
  await page.getByRole('region', { name: 'Version' }).getByText('Version 2.0.0').waitFor();

  // An earlier version, by its tag.
  const version = page.getByRole('region', { name: 'Version' });
  assert.equal(await version.getByText('Go back to the previous code').count(), 0);
  await version.getByLabel('Version').fill('1.0.0');
  const show = version.getByRole('button', { name: 'Show what an upgrade changes' });
  await show.click();
  await version.getByText('2.0.0 → 1.0.0').waitFor();
  // The focus stays near after the list is closed.
  await version.getByRole('button', { name: 'Cancel' }).click();
  await version.locator('h2:focus').waitFor();
  await show.click();
  await version.getByText('lib/a.ts', { exact: true }).waitFor();
  await version.getByRole('button', { name: 'Install 1.0.0' }).click();
  await version.getByText('Version 1.0.0 is installed.').waitFor();

  // A field that hangs on another comes and goes with it; a file is sent.
  const key = page.getByLabel('Key of it');
  await page.getByLabel('Mode').waitFor();
  assert.equal(await key.count(), 0);
  await page.getByLabel('Mode').selectOption('signed');
  await key.fill('k');
  const choose = () =>
    page
      .getByRole('region', { name: 'In this project' })
      .locator('input[type=file]')
      .setInputFiles([file('table.csv', 'a,b')]);
  await choose();
  // A file is not kept over a reload: it has to be chosen again, which is said.
  await page.reload();
  const lost = page.getByText('Your file was not kept. Choose it again.');
  await lost.waitFor();
  await page.getByText('Secrets and files are not kept').waitFor();
  await choose();
  await lost.waitFor({ state: 'detached' });
  await page.getByLabel('Switched on').check();
  await page.getByRole('button', { name: 'Save the settings' }).click();
  await page.getByText('The settings were saved.').waitFor();
  await page.getByText('Stored: table.csv.').waitFor();
  const { body } = await world.harness.request(
    'GET',
    `/api/projects/${home.project.id}/plugin_configs/`,
    { key: home.key },
  );
  const { config } = body.results.find((one: { config: object }) => 'mode' in one.config);
  assert.deepEqual([config.mode, config.key, config.table.contents], ['signed', 'k', 'YSxi']);
  // A file whose removal is taken back stays.
  await page.getByLabel('Take table.csv away').check();
  await page.getByLabel('Take table.csv away').uncheck();
  const saved = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
  await page.getByRole('button', { name: 'Save the settings' }).click();
  const { config: kept } = (await (await saved).json()) as { config: { table?: object } };
  assert.notEqual(kept.table, undefined);

  await page.locator('summary').filter({ hasText: 'again' }).click();
  await page.getByLabel('How many').fill('many');
  await page.getByRole('button', { name: 'Start again' }).click();
  await page.locator('[name=payload__count][aria-invalid=true]').waitFor();
  await page.getByLabel('How many').fill('3');
  await page.getByRole('button', { name: 'Start again' }).click();
  await page.getByText('is queued').waitFor();
  await page.getByText('It has counted nothing yet.').waitFor();

  // The page shows the changes of the upgrade, and those of going back, before it makes them. A
  // late answer does not move the focus of a person who has moved on.
  const asked = Promise.withResolvers<void>();
  await page.route('**/check_for_updates/', async (route) => {
    await asked.promise;
    await route.continue();
  });
  await version.getByRole('button', { name: 'Look for a newer one' }).click();
  await version.getByLabel('Version').fill('');
  asked.resolve();
  await version.getByRole('status').getByText('2.0.0 is there.').waitFor();
  const focused = await page.evaluate(() => document.activeElement?.getAttribute('name'));
  assert.equal(focused, 'tag');
  await version.getByRole('button', { name: 'Show what an upgrade changes' }).click();
  await version.getByText('1.0.0 → 2.0.0').waitFor();
  await version.getByText('one project that uses it do not fit that version').waitFor();
  await version.getByText('Lines of index.ts').click();
  await version.getByRole('region', { name: 'Lines of index.ts' }).getByText('+').first().waitFor();
  await checkEverywhere(page, 'plugin_upgrade');
  await version.getByRole('button', { name: 'Install 2.0.0' }).click();
  await version.getByText('Version 2.0.0 is installed.').waitFor();
  await page.getByLabel('More').waitFor();
  await version.getByText('Go back to the previous code').click();
  await version.getByRole('button', { name: 'Show what going back changes' }).click();
  await version.getByRole('button', { name: 'Go back to 1.0.0' }).click();
  await version.getByText('Version 1.0.0 is installed.').waitFor();
  await page.getByLabel('More').waitFor({ state: 'detached' });

  // The order, and the end in this project; the list has those that nobody uses.
  const here = page.getByRole('region', { name: 'In this project' });
  const save = here.getByRole('button', { name: 'Save the settings' });
  await here.getByLabel('Order').fill('last');
  await save.click();
  await here.locator('[name=order][aria-invalid=true]').waitFor();
  await here.getByLabel('Order').fill('7');
  await save.click();
  await here.getByText('The settings were saved.').waitFor();
  // The message about the saved change is gone when the next one is refused.
  await here.getByLabel('Order').fill('last');
  await save.click();
  await here.locator('[name=order][aria-invalid=true]').waitFor();
  assert.equal(await here.getByText('The settings were saved.').count(), 0);
  const plugin_page = page.url();
  await goTo(page, `/projects/${home.project.id}/plugins`);
  await page.getByText('order 7').waitFor();
  // On a card what is empty, such as the version of own code, takes its label with it.
  const lows = `[...document.querySelectorAll('.cards td')]
    .filter(({ offsetParent, offsetHeight }) => offsetParent !== null && offsetHeight < 12).length`;
  await page.setViewportSize({ width: 320, height: 800 });
  assert.ok((await page.locator('.cards td:empty').count()) > 0);
  assert.equal(await page.evaluate(lows), 0);
  await page.setViewportSize({ width: 1280, height: 800 });
  // Its style comes with this page, not with one that was looked at before.
  const toolbar = page.locator('.toolbar');
  assert.equal(await toolbar.evaluate((div) => getComputedStyle(div).display), 'flex');
  await page.getByLabel('Which plugins').selectOption('unused');
  await page.getByText('Every plugin of the organization is on').waitFor();
  await goTo(page, plugin_page);
  await here.getByText('Remove it from this project').click();
  await here.getByRole('button', { name: 'Take it out' }).click();
  const end = page.getByRole('dialog', { name: 'Take it out?' });
  await end.getByRole('textbox').fill('Listed');
  await end.getByRole('button', { name: 'Take it out' }).click();
  await here.getByText('This project no longer uses the plugin.').waitFor();
  if (is_deep) await checkEverywhere(page, 'plugin_unused');
  await goTo(page, `/projects/${home.project.id}/plugins?show=unused`);
  await page.getByRole('link', { name: 'Listed' }).waitFor();
  if (is_deep) await checkEverywhere(page, 'plugins_unused');
  await page.getByRole('link', { name: 'Activity of plugins' }).click();
  await page.getByText('rolled back').first().waitFor();
});
