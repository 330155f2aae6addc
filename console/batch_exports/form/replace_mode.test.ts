import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseDestination } from '../../../test/console/choose_destination.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';

const world = openConsole({ clickhouse: false });
const { skip } = world;

test(
  'the mode Replace says what it deletes, and asks about an empty result',
  { skip },
  async () => {
    const home = await world.server.harness.newOrganization();
    const visitor = await world.visit(home.user);
    const { page } = visitor;
    await goTo(page, `/projects/${home.project.id}/exports/new`);
    await chooseDestination(page, 'PostgreSQL');
    const mode = page.getByLabel('Rows in the table');
    const empty = page.getByRole('checkbox', { name: 'Allow an empty result' });
    assert.equal(await empty.count(), 0);
    await mode.selectOption('Replace');
    await page.getByText('Other rows in the table are deleted.').waitFor();
    await empty.check();
    await page.getByText('a wrong query has no rows either').waitFor();
    await checkEverywhere(page, 'replace_mode');
    await page.reload();
    await page.getByText('This is what you typed before.').waitFor();
    assert.equal(await empty.isChecked(), true);
    await mode.selectOption('Append');
    await empty.waitFor({ state: 'detached' });
    assert.deepEqual(visitor.complaints, []);
    await visitor.close();
  },
);
