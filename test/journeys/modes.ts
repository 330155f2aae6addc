import assert from 'node:assert/strict';
import { until } from '../processes/server_process.ts';
import type { Journey } from './journey.ts';
import type { Walker } from './walker.ts';
import type { World } from './world.ts';

const first = 120;
const more = 30;

/** One export of each mode to PostgreSQL: created, changed, broken and repaired in the console. */
export const modes: Journey = {
  name: 'Append, merge and replace: created, changed, broken, repaired',
  walk: async (world, walker) => {
    const project_id = await world.newProject('Modes');
    await world.send(project_id, first);
    await world.signIn(walker.page);
    for (const walk of [append, merge, replace])
      await walk({ world, walker, project_id, exports: `/projects/${project_id}/exports` });
  },
};

type Scene = { world: World; walker: Walker; project_id: number; exports: string };

/**
 * Creates an export to a table with the choices of `fill`, and runs it. Returns its page. A run of
 * its own schedule would deliver rows in between, so the export is weekly.
 */
async function create(
  { world: { warehouse }, walker: { page, press, type, key, choose, see }, exports }: Scene,
  table: string,
  fill: () => Promise<unknown>,
): Promise<string> {
  const { port, database, user, password } = warehouse;
  await page.goto(exports);
  await press('New export');
  await type(
    'Or paste a connection string',
    `postgres://${user}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`,
  );
  await key('Enter');
  await see(/^Filled in: /);
  await type('Name', `Into ${table}`);
  await type('Table', table);
  await choose('Interval', 'Every week');
  await fill();
  await press('Create export');
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  await runNow({ press, see });
  await see(/^Your first .* arrived$/);
  return page.url();
}

async function runNow({ press, see }: Pick<Walker, 'press' | 'see'>): Promise<void> {
  await press('Run now');
  await see(/^Run started: /);
}

/** Changes a field of the export whose page is shown, and returns to that page. */
async function change({ press }: Walker, fill: () => Promise<unknown>): Promise<void> {
  await press('Edit');
  await fill();
  await press('Save changes');
}

async function untilRows({ warehouse }: World, table: string, wanted: object): Promise<void> {
  await until(`${JSON.stringify(wanted)} in ${table}`, 60_000, 250, async () => {
    const [row] = await warehouse
      .ask(`SELECT count(*)::int AS rows, count(DISTINCT uuid)::int AS uuids FROM ${table}`)
      .catch(() => []);
    return JSON.stringify(row) === JSON.stringify(wanted) ? true : undefined;
  });
}

/** The table is dropped; the export starts again and one button brings the earlier rows back. */
async function append(scene: Scene): Promise<void> {
  const { world, walker, project_id } = scene;
  const { page, press, type, see, shot, note } = walker;
  const url = await create(scene, 'appended', async () => undefined);
  await untilRows(world, 'appended', { rows: first, uuids: first });
  await shot('modes_append_created');
  await change(walker, () => type('Name', 'Each event once'));
  await page.waitForURL(url);
  await world.warehouse.ask('DROP TABLE appended');
  await world.send(project_id, more);
  await runNow(walker);
  await see(/Partly delivered/);
  await shot('modes_append_broken');
  await press(/^Deliver them to /);
  await untilRows(world, 'appended', { rows: first, uuids: first });
  // The run that missed the table was cancelled with it.
  await page.goto(url);
  await runNow(walker);
  const all = first + more;
  await untilRows(world, 'appended', { rows: all, uuids: all });
  await page.goto(url);
  await see(page.locator('.standing_sentence'));
  await shot('modes_append_repaired');
  note(`append: ${all} rows, ${all} different ones`);
}

/** A right is revoked; the incident names the cause, and one click delivers after the grant. */
async function merge(scene: Scene): Promise<void> {
  const { world, walker, project_id } = scene;
  const { page, press, choose, see, shot, note } = walker;
  const { ask, user } = world.warehouse;
  const url = await create(scene, 'merged', () => choose('Rows in the table', 'Merge'));
  const all = first + more;
  await untilRows(world, 'merged', { rows: all, uuids: all });
  await shot('modes_merge_created');
  await ask(`REVOKE INSERT ON merged FROM ${user}`);
  await world.send(project_id, more);
  await press('Run now');
  await see(page.locator('.standing_sentence').filter({ hasText: /lacks a right/ }));
  await page.goto(`${url}/incident`);
  await see(page.locator('.incident').filter({ hasText: /lacks a right/ }));
  await shot('modes_merge_broken');
  await ask(`GRANT INSERT ON merged TO ${user}`);
  await press(
    page
      .locator('.incident')
      .getByRole('button', { name: /^(Try now|Retry)/ })
      .first(),
  );
  await untilRows(world, 'merged', { rows: all + more, uuids: all + more });
  await page.goto(url);
  await see(page.locator('.standing_sentence').filter({ hasText: /Up to date|Waiting for/ }));
  await shot('modes_merge_repaired');
  note(`merge: ${all + more} rows, one for each key`);
}

/** The right to delete is missing. The connection test names the statement that grants it. */
async function replace(scene: Scene): Promise<void> {
  const { world, walker, project_id } = scene;
  const { page, press, choose, see, shot, note } = walker;
  const { ask, user } = world.warehouse;
  const url = await create(scene, 'replaced', () => choose('Rows in the table', 'Replace'));
  const all = first + 2 * more;
  await untilRows(world, 'replaced', { rows: all, uuids: all });
  await ask(`CREATE VIEW shown AS SELECT uuid FROM replaced`);
  await shot('modes_replace_created');
  await ask(`REVOKE DELETE ON replaced FROM ${user}`);
  await world.send(project_id, more);
  await runNow(walker);
  await see(page.locator('.standing_sentence').filter({ hasText: /lacks a right/ }));
  await untilRows(world, 'replaced', { rows: all, uuids: all });
  await press('Edit');
  await press('Test connection');
  const said = await see(page.getByText(/Run this as an administrator: GRANT/));
  await shot('modes_replace_broken');
  const statement = /administrator: (GRANT DELETE ON .+ TO .+);/.exec(said)?.[1];
  assert.ok(statement !== undefined, said);
  await ask(statement);
  await press('Test connection');
  await see(/None was deleted\./);
  await page.goto(url);
  await runNow(walker);
  await untilRows(world, 'replaced', { rows: all + more, uuids: all + more });
  await untilRows(world, 'shown', { rows: all + more, uuids: all + more });
  await page.reload();
  await see(page.locator('.standing_sentence').filter({ hasText: /Up to date|Waiting for/ }));
  await shot('modes_replace_repaired');
  note(`replace: ${all + more} rows, also through a view that was there before`);
}
