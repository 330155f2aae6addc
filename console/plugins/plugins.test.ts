import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { openConsole } from '../../test/console/open_console.ts';

const world = await openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

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
  const home = await world.harness.newOrganization();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/plugins`);
  await page.getByText('Nothing is installed here.').waitFor();
  await page.getByText('From an address').first().click();
  await page.getByLabel('Address').fill('ftp://example.com/x');
  await page.getByRole('button', { name: 'Install from an address' }).click();
  await page.locator('[aria-invalid=true]').waitFor();
  await checkEverywhere(page, 'plugins');
  await page.getByText('Your own code').first().click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine');
  await page.getByRole('button', { name: 'Begin' }).click();
  await page.getByRole('heading', { name: 'Mine' }).waitFor();

  const send = async (...files: ReturnType<typeof file>[]) => {
    await page.locator('input[type=file]').setInputFiles(files);
    await page.getByRole('button', { name: 'Send the files' }).click();
  };
  await send(file('index.ts', 'export function onEvent( {'));
  await page
    .getByText(/index\.ts/)
    .first()
    .waitFor();
  await send(file('index.ts', 'export function onEvent() {}'), file('plugin.json', manifest));
  await page.getByText('The files were compiled and saved.').waitFor();
  await page.getByRole('heading', { name: hostile, level: 1 }).waitFor();

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
  await page.reload();
  await page.getByText('Empty: it stays.').waitFor();
  assert.equal(await host.inputValue(), 'api.example.com');
  assert.equal(await page.getByLabel('Token').inputValue(), '');
  const { body } = await world.harness.request(
    'GET',
    `/api/projects/${home.project.id}/plugin_configs/`,
    { key: home.key },
  );
  const [config] = body.results as { enabled: boolean; secret_keys: string[] }[];
  assert.deepEqual([config!.enabled, config!.secret_keys], [true, ['token']]);
  await leave();
});
