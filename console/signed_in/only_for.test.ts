import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goTo, untilAnswered } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import type { TestOrganization } from '../../test/harness.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;

test('a person who may not change a setting sees it, and reads who can', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const { user } = await world.harness.newMember(home.organization.id, 1);
  const { domain_id, plugin_id } = await fill(home);
  const visitor = await world.visit(user);
  const { page } = visitor;
  const organization = `/organizations/${home.organization.id}`;
  const project = `/projects/${home.project.id}`;
  const pages = [
    [`${organization}/settings`, 3],
    [`${organization}/domains`, 1],
    [`${organization}/domains/${domain_id}`, 7],
    [`${project}/erasures`, 1],
    [`${project}/plugins`, 1],
    [`${project}/plugins/pipeline_destinations/${plugin_id}`, 3],
    [`${project}/plugins/pipeline_destinations/${plugin_id}/code`, 1],
    [`${project}/settings`, 5],
  ] as const;
  for (const [path, lines] of pages) {
    await goTo(page, path);
    await untilAnswered(page);
    await isNotOffered(visitor, path, lines);
  }
  assert.notEqual(await page.getByLabel('Name', { exact: true }).inputValue(), '');
  assert.equal(await page.getByLabel('Name', { exact: true }).isDisabled(), true);
  await page.getByText('site', { exact: true }).waitFor();
  await checkEverywhere(page, 'settings_of_a_member');

  await goTo(page, `${project}/plugins/pipeline_destinations/${plugin_id}/code`);
  const code = page.locator('.cm-content');
  await code.getByText('export const onEvent = () => {};').waitFor();
  await code.press('x');
  assert.equal(await code.innerText(), 'export const onEvent = () => {};');

  await goTo(page, `${organization}/members?tab=invites`);
  const row = page.getByRole('row').filter({ hasText: 'ada@example.com' });
  await row.getByText('by administrators').waitFor();
  await visitor.leave();
});

test('a person without the right reads who has it', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const { user } = await world.harness.newMember(home.organization.id, 8);
  const visitor = await world.visit(user);
  const { page } = visitor;
  await page.goto(`/organizations/${home.organization.id}/settings`);
  await page.getByText('Only owners of the organization can do this. You are').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Delete the organization' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Save the organization' }).count(), 1);
  await visitor.leave();
});

/** A domain, a plugin in use with two versions of its code, a write key and an invite. */
async function fill({ organization, project, key }: TestOrganization) {
  const of_organization = `/api/organizations/${organization.id}/`;
  const of_project = `/api/projects/${project.id}/`;
  const send = async (path: string, body: object, method = 'POST') => {
    const answer = await world.harness.request(method, path, { key, body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status}`);
    return answer.body;
  };
  const domain = await send(`${of_organization}domains/`, { domain: `d${project.id}.example.com` });
  const plugin = { plugin_type: 'source', name: 'Mine' };
  const { id } = await send(`${of_organization}pipeline_destinations/`, plugin);
  const source_path = `${of_organization}pipeline_destinations/${id}/update_source/`;
  for (const code of ['export function onEvent() {}', 'export const onEvent = () => {};'])
    await send(source_path, { source: { 'index.ts': code } }, 'PUT');
  await send(`${of_project}plugin_configs/`, { plugin: id, enabled: false, order: 0, config: {} });
  await send(`${of_project}write_keys/`, { name: 'site' });
  await send(`${of_organization}invites/`, { target_email: 'ada@example.com', level: 1 });
  return { domain_id: domain.id, plugin_id: id };
}

/** Nothing can be sent, and so many lines say who can. */
async function isNotOffered({ page }: Visitor, path: string, lines: number): Promise<void> {
  const main = page.getByRole('main');
  await main
    .getByText(/^Only (administrators|owners) of the organization can .* You are/)
    .first()
    .waitFor();
  const said = main.getByText(
    /^Only (administrators|owners) of the organization can .* You are a member/,
  );
  assert.deepEqual({ path, lines: await said.count() }, { path, lines });
  assert.deepEqual({ path, forms: await main.locator('form').count() }, { path, forms: 0 });
}
