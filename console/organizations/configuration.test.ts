import { test } from 'node:test';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { openConfigurations } from '../../test/factories/configurations.ts';

const world = openConsole();
const { skip } = world;

test('the page shows what was changed since the last apply, and by whom', { skip }, async () => {
  const { home, put } = await openConfigurations(world.harness);
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/configuration`);
  await page.getByText('No configuration manages this organization').waitFor();
  const source = { name: 'shop', commit: 'a1b2c3d4' };
  const { body } = await put({ projects: { web: { name: 'Web' } } }, { source });
  await page.reload();
  await page.getByText('All 1 managed objects are unchanged since the last apply.').waitFor();
  await page.getByRole('row', { name: /shop.*1 created/ }).waitFor();
  await home.ask('PATCH', `/api/projects/${body.objects[0].id}/`, { name: 'Shop' });
  await page.reload();
  await page.getByText('Changed since the last apply: 1 of 1 managed objects.').waitFor();
  await page.getByRole('listitem').filter({ hasText: home.user.email }).waitFor();
  await checkEverywhere(page, 'configuration_changed');
  await page.goto(`/projects/${body.objects[0].id}/settings`);
  await page.getByText('As YAML').click();
  await page.getByText('name: Shop').waitFor();
  await leave();
});
