import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { packageFiles, publishedPlugin } from '../../test/factories/plugins/plugins.ts';
import type { TestOrganization } from '../../test/harness.ts';

const hostile = `<img src=x onerror="document.title='taken'">`;
let home: TestOrganization;
let beta: TestOrganization;
const world = openConsole({
  opened: async (harness) => {
    home = await harness.newOrganization();
    beta = await harness.newOrganization({ name: hostile });
  },
});
const { skip } = world;

const filesOf = (version: string, key: string) =>
  packageFiles(
    'pipeline_destinations',
    { name: 'Sheets', version, config: [{ key, name: `Field ${key}`, type: 'string' }] },
    { 'index.ts': `export function onEvent() { return '${version}'; }` },
  );

test('a newer version of a stranger’s plugin waits until it is accepted', { skip }, async () => {
  const { id, url } = await publishedPlugin(
    world.harness,
    beta,
    'pipeline_destinations',
    filesOf('1.0.0', 'old'),
  );
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  const plugins = `/projects/${home.project.id}/plugins`;
  await goTo(page, `${plugins}/pipeline_destinations/${id}`);
  await page.getByText('of the organization').waitFor();
  const here = page.getByRole('region', { name: 'In this project' });
  await here.getByLabel('Switched on').check();
  await here.getByRole('button', { name: 'Save the settings' }).click();
  await here.getByText(/your version stays until you accept the new one/).waitFor();
  // Others' plugins are neither changed nor removed from here.
  assert.equal(await page.getByRole('button', { name: 'Uninstall' }).count(), 0);

  const source = filesOf('2.0.0', 'fresh');
  const changed = await beta.ask('PUT', `${url}update_source/`, { source, tag: '2.0.0' });
  assert.equal(changed.status, 200, changed.text);
  await goTo(page, plugins);
  // The page was read within a second before the change, and asks again only after a while.
  await page.getByText('a newer version waits').waitFor({ timeout: 60_000 });
  await page.getByRole('link', { name: 'Sheets' }).click();
  await here.getByText(/changed the code of this plugin .*: version 2\.0\.0 waits\./).waitFor();
  // The settings are those of what runs.
  await here.getByLabel('Field old').waitFor();
  await checkEverywhere(page, 'plugin_waiting_version');
  await here.getByRole('button', { name: 'Accept version 2.0.0' }).click();
  await here.getByText('This project now runs version 2.0.0.').waitFor();
  await here.getByLabel('Field fresh').waitFor();
  assert.equal(await here.getByRole('note').count(), 0);
  const { body } = await home.ask('GET', `/api/projects/${home.project.id}/plugin_configs/`);
  assert.deepEqual(
    [body.results[0].accepted_version.tag, body.results[0].waiting_version],
    ['2.0.0', null],
  );

  // Whoever may not change settings sees that one waits.
  await beta.ask('PATCH', url, { config_schema: [{ key: 'fresh', default: 'x' }] });
  const member = await world.harness.newMember(home.organization.id, 1);
  const other = await world.visit(member.user);
  await goTo(other.page, `${plugins}/pipeline_destinations/${id}`);
  await other.page.getByText(/changed the settings of this plugin/).waitFor();
  assert.equal(await other.page.getByRole('button', { name: /Accept/ }).count(), 0);
  for (const one of [visitor, other]) await one.leave();
});
