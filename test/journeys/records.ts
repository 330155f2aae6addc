import assert from 'node:assert/strict';
import { until } from '../processes/server_process.ts';
import type { Journey } from './journey.ts';

/** The places of an event, and their state after its person was erased. */
export const finder: Journey = {
  name: 'Finder, also after an erasure',
  walk: async (world, { page, press, type, key, see, shot }) => {
    const project_id = await world.newProject('Found');
    const [uuid = ''] = await world.send(project_id, 1, 'shopper-19');
    await world.send(project_id, 20);
    const base = `/api/projects/${project_id}/batch_exports/`;
    const { id } = await world.ask('POST', base, {
      name: 'Lake',
      interval: 'hour',
      destination: { type: 'File', config: { prefix: 'found' } },
    });
    await world.ask('POST', `${base}${String(id)}/run_now/`, {});
    await until('the run', 60_000, 250, async () => {
      const { results } = await world.ask('GET', `${base}${String(id)}/runs/`);
      return results[0]?.status === 'Completed' ? true : undefined;
    });
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/exports`);
    await press('Find a record');
    await type('The uuid of an event', uuid);
    await key('Enter');
    await see(page.getByText('It was delivered: the run has the receipt.'));
    await shot('finder_delivered');
    await press('Erasures');
    await press(page.getByText('Erase persons'));
    await type('Distinct ids', 'shopper-19');
    await press('Erase these persons');
    const dialog = page.getByRole('dialog');
    await see(dialog.getByText(/^It concerns/));
    await type(dialog.getByRole('textbox'), 'erase');
    await press(dialog.getByRole('button', { name: 'Erase them' }));
    await page.waitForURL(/\/erasures\/[0-9a-f-]{36}$/);
    await page.getByText(/^Certified /).waitFor({ timeout: 240_000 });
    await see(page.getByText(/^Certified /));
    await shot('finder_erased');
    await press('Find a record');
    await type('The uuid of an event', uuid);
    await key('Enter');
    await see(page.getByRole('status').filter({ hasText: /erase/i }));
    await shot('finder_after');
  },
};

/** An own plugin: written, tested, enabled; it throws, and Sluice disables it. */
export const plugin: Journey = {
  name: 'Plugin: write code, try it, it throws, it stops',
  walk: async (world, { page, press, type, choose, see, shot }) => {
    const project_id = await world.newProject('Plugged');
    const [uuid = ''] = await world.send(project_id, 1);
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/plugins`);
    await press(page.getByText('Your own code', { exact: true }));
    await type(page.getByRole('textbox', { name: 'Name', exact: true }), 'Throwing');
    await press('Create plugin');
    await page.getByRole('heading', { name: 'Code of Throwing', level: 1 }).waitFor();
    const code = page.locator('.cm-content');
    await type(code, 'export function onEvent(event) {\n  const a = ;\n}');
    await see(/^Line 2, column \d+: /);
    await type(
      code,
      "export function onEvent(event) {\n  throw new Error('no shop ' + event.event);\n}",
    );
    const trial = page.getByRole('region', { name: 'Try and look up' });
    await choose('Event', uuid);
    await press(trial.getByRole('button', { name: 'Run' }));
    await see(trial.getByText(/no shop ordered/));
    await shot('plugin_tried');
    await press(page.getByRole('button', { name: 'Save', exact: true }));
    await see('The code was saved.');
    await press(/^Settings, log and versions/);
    await press(page.getByLabel('Switched on'));
    await press('Save the settings');
    await see('The settings were saved.');
    const here = page.getByRole('region', { name: 'In this project' });
    await until('the stop', 120_000, 0, async () => {
      await world.send(project_id, 5);
      await page.waitForTimeout(500);
      return (await here.getByText(/Stopped by Sluice/).count()) > 0 ? true : undefined;
    });
    await see(here.getByText(/Stopped by Sluice/));
    assert.equal(await page.getByText('The settings were saved.').count(), 0);
    await shot('plugin_stopped');
    await press(here.getByRole('button', { name: 'Switch on again' }));
    await see(here.getByText('● On', { exact: true }));
  },
};

/** A notice target, its test, and a notice about a failing export. */
export const notices: Journey = {
  name: 'Notices',
  walk: async (world, { page, press, type, see, shot }) => {
    const project_id = await world.newProject('Noticed');
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/notices`);
    await shot('notices_empty');
    await press('Webhook');
    await type('Address', `${world.receiver.url}/taken`);
    await press('Create target');
    await see(/now gets notices\./);
    await shot('notices_created');
    await press(page.getByRole('rowheader').getByRole('link'));
    await press(/test/i);
    await see(/accepted the test/);
    await shot('notices_tested');
  },
};

/** An instance with many projects and exports, in which the person finds one of each. */
export const big_instance: Journey = {
  name: 'Big instance: 200 projects, 300 exports',
  walk: async (world, { page, press, typeOn, type, key, see, shot }) => {
    const project_id = await world.newProject('Many exports');
    for (let number = 0; number < 200; number += 1) await world.newProject(`Shop ${number}`);
    for (let number = 0; number < 300; number += 1)
      await world.ask('POST', `/api/projects/${project_id}/batch_exports/`, {
        name: `Export ${number}`,
        interval: 'day',
        destination: { type: 'NoOp', config: {} },
      });
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/exports`);
    await see('300 exports');
    await shot('big_list');
    await type('Search by name', 'Export 217');
    await see('1 export');
    await press('Export 217');
    await page.getByRole('heading', { name: 'Export 217', level: 1 }).waitFor();
    await key('Control+k');
    await page.getByRole('combobox', { name: 'Page, export or action' }).waitFor();
    await typeOn('Shop 123');
    await see(page.getByRole('dialog').getByRole('option', { name: /^Shop 123/ }));
    await key('Enter');
    await page.getByRole('button', { name: /Shop 123/ }).waitFor();
    await press(/^My organization/);
    await see(page.getByRole('menuitem', { name: /^Search \d+ more projects/ }));
    await shot('big_menu');
    await page.goto('/account');
    await press(page.getByText('Create a key', { exact: true }));
    await see(/more: search for them by name/);
    await shot('big_account');
  },
};
