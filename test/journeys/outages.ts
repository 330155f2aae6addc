import assert from 'node:assert/strict';
import { until } from '../processes/server_process.ts';
import type { Journey } from './journey.ts';
import { openOutages } from './outage_world.ts';
import type { Outage } from './outage_world.ts';
import { disagreements, lookAt } from './signs.ts';
import type { Told } from './signs.ts';

/** Longest time to the first boundary of five minutes, and again to the second. */
const boundary_ms_max = 330_000;
const rows_before = 300;
const rows_meanwhile = 200;

/** An outage of a real PostgreSQL, in four ways at once, and the repair of each. */
export const outages: Journey = {
  name: 'Outage of PostgreSQL and its repair',
  walk: async (world, walker) => {
    const { ask, receiver } = world;
    const { page } = walker;
    const project_id = await world.newProject('Outages');
    await ask('POST', `/api/projects/${project_id}/notice_targets/`, {
      type: 'webhook',
      name: 'ours',
      url: `${receiver.url}/taken`,
    });
    await world.send(project_id, rows_before);
    const opened = await openOutages(world, project_id);
    const exports = `/projects/${project_id}/exports`;
    const toldOf = async ({ export_id }: Outage): Promise<Told> => {
      const { results } = await ask('GET', `/api/projects/${project_id}/overview/?limit=100`);
      return results.find(({ id }: { id: string }) => id === export_id).health;
    };
    const untilAll = (what: string, is: (told: Told) => boolean, among = opened.outages) =>
      until(what, boundary_ms_max, 1000, async () => {
        const told = await Promise.all(among.map(toldOf));
        return told.every(is) ? true : undefined;
      });
    try {
      await world.signIn(page);
      await untilAll('the first runs', ({ code }) => code === 'up_to_date');
      await world.send(project_id, rows_meanwhile);
      for (const outage of opened.outages) await outage.break();
      const [failing, silent] = [false, true].map((wanted) =>
        opened.outages.filter(({ is_silent = false }) => is_silent === wanted),
      ) as [Outage[], Outage[]];
      await untilAll('the outages', ({ cause }) => cause !== null, failing);
      for (const outage of failing) {
        const about = { project_id, export_id: outage.export_id, name: `When ${outage.name}` };
        const signs = await lookAt(walker, receiver, about, outage.table.split('.')[0]!);
        const told = await toldOf(outage);
        assert.match(told.cause!, outage.cause);
        walker.note(`${outage.name}: ${signs.head}`);
        assert.deepEqual(disagreements(told, signs), [], `${outage.name}: ${told.detail}`);
      }
      for (const outage of opened.outages) await outage.repair();
      for (const { export_id, name } of failing) {
        await page.goto(`${exports}/${export_id}/incident`);
        const repair = page.locator('.incident').getByRole('button', { name: /^(Try now|Retry)/ });
        const proven = page.locator('.proof').filter({ hasText: /\d doubled\.$/ });
        await repair.or(proven).first().waitFor();
        // Sluice may have been faster.
        if ((await proven.count()) === 0) await walker.press(repair.first());
        await page.goto(`${exports}/${export_id}/incident`);
        const proof = await walker.see(proven);
        assert.match(proof, /: 200 counted, 200 delivered, 0 doubled\.$/, name);
        await walker.shot(`outage_after_${name.replaceAll(' ', '_')}`);
      }
      await untilAll('the recovery', ({ code }) => code === 'up_to_date', failing);
      await untilAll('the dropped table', ({ code }) => code === 'partly_delivered', silent);
      for (const outage of opened.outages) await compareTable(outage, walker.note);
      await repairDropped(silent[0]!, { walker, exports });
    } finally {
      await opened.close();
    }
  },
};

/** Counts the rows of the table itself: all rows once, and for the dropped table the rows since. */
async function compareTable(
  { name, table, warehouse, is_silent }: Outage,
  note: (text: string) => void,
): Promise<void> {
  const [counts] = await warehouse.ask<{ rows: number; uuids: number }>(
    `SELECT count(*)::int AS rows, count(DISTINCT uuid)::int AS uuids FROM ${table}`,
  );
  const wanted = rows_meanwhile + (is_silent === true ? 0 : rows_before);
  assert.deepEqual(counts, { rows: wanted, uuids: wanted }, name);
  note(`${name}: the table has ${wanted} rows, ${wanted} different ones`);
}

type Around = { exports: string; walker: Parameters<Journey['walk']>[1] };

/**
 * The export shows the rows that are missing since its table is gone, and one button delivers them.
 */
async function repairDropped(
  { export_id, name, table, warehouse }: Outage,
  { exports, walker: { page, press, see, shot, note } }: Around,
): Promise<void> {
  await page.goto(`${exports}/${export_id}`);
  await see(/Partly delivered/);
  await shot('outage_dropped');
  await press(/^Deliver them to /);
  await see(page.getByRole('region', { name: 'Backfill' }).getByText('Completed'));
  const all = rows_before + rows_meanwhile;
  const [counts] = await warehouse.ask<{ rows: number; uuids: number }>(
    `SELECT count(*)::int AS rows, count(DISTINCT uuid)::int AS uuids FROM ${table}`,
  );
  assert.deepEqual(counts, { rows: all, uuids: all }, name);
  note(`${name}: after the repair the table has ${all} rows, ${all} different ones`);
}
