import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { until } from '../processes/server_process.ts';
import type { Journey } from './journey.ts';

/** From the link of the terminal to the first file, on a newly installed server. */
export const first_day: Journey = {
  name: 'First day, from the link to the first file',
  walk: async (world, { page, press, see, shot }) => {
    const link = /^ {2}http\S+(\/login\/link\?token=\S+)$/m.exec(world.server.output())?.[1];
    assert.ok(link !== undefined);
    await page.goto(link);
    await press('Sign in');
    await see('Waiting for your first event');
    await shot('first_day_empty');
    await press('Create a send-only key');
    await page.getByText('The key is in the commands below.').waitFor();
    await press('Copy One event with curl');
    const command = await page
      .getByRole('region', { name: 'One event with curl' })
      .locator('code')
      .textContent();
    await promisify(execFile)('sh', ['-c', command!]);
    await see('Events arrive');
    await press('Create the first export');
    await see(
      page.getByRole('region', { name: 'First rows' }).getByText(/^Your first .* arrived$/),
    );
    await shot('first_day_done');
  },
};

/** An export to PostgreSQL, first with a wrong password, then with the right one. */
export const postgres_export: Journey = {
  name: 'PostgreSQL with wrong settings, then right ones',
  walk: async (world, { page, press, type, typeOn, key, see, shot }) => {
    const { port, database, user, password, ask } = world.warehouse;
    const project_id = await world.newProject('Warehouse');
    await world.send(project_id, 120);
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/exports`);
    await press('New export');
    await type(
      'Or paste a connection string',
      `postgres://${user}:wrong-password@127.0.0.1:${port}/${database}?sslmode=disable`,
    );
    await key('Enter');
    await see(/^Filled in: /);
    await type('Name', 'Orders to the warehouse');
    await press('Create export');
    await see(page.locator('[id$=-error]').filter({ hasText: /\S/ }));
    await shot('postgres_wrong');
    // The field has the focus.
    await page.locator('[name=destination__config__password]:focus').waitFor();
    await typeOn(password);
    await press('Create export');
    await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
    await press('Run now');
    await see(/^Run started: /);
    await see(/^Your first .* arrived$/);
    await shot('postgres_right');
    const [row] = await ask<{ rows: string; distinct: string }>(
      'SELECT count(*) AS rows, count(DISTINCT uuid) AS distinct FROM events',
    );
    assert.deepEqual(row, { rows: '120', distinct: '120' });
  },
};

/** A change of the table: the rows of the old table are delivered to the new one. */
export const changed_table: Journey = {
  name: 'Change of a table',
  walk: async (world, { page, press, type, see, shot }) => {
    const { port, database, user, password, ask } = world.warehouse;
    const project_id = await world.newProject('Changed');
    await world.send(project_id, 80);
    const base = `/api/projects/${project_id}/batch_exports/`;
    const { id } = await world.ask('POST', base, {
      name: 'Orders',
      interval: 'hour',
      destination: {
        type: 'Postgres',
        config: {
          host: '127.0.0.1',
          port,
          database,
          user,
          password,
          table_name: 'old_orders',
          require_tls: false,
        },
      },
    });
    await world.ask('POST', `${base}${String(id)}/run_now/`, {});
    await until('the rows', 60_000, 250, async () => {
      const [row] = await ask<{ rows: string }>('SELECT count(*) AS rows FROM old_orders').catch(
        () => [],
      );
      return row?.rows === '80' ? true : undefined;
    });
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/exports/${String(id)}`);
    await press('Edit');
    await type('Table', 'new_orders');
    await press('Save changes');
    await see(page.getByRole('dialog'));
    await shot('changed_asked');
    await press(page.getByRole('dialog').getByRole('checkbox', { name: /^Also deliver/ }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Save and restart' }));
    await page.waitForURL(/\/exports\/[0-9a-f-]{36}(\?.*)?$/);
    await see(page.locator('.standing_sentence'));
    await until('the rows of the new table', 60_000, 250, async () => {
      const [row] = await ask<{ rows: string }>('SELECT count(*) AS rows FROM new_orders').catch(
        () => [],
      );
      return row?.rows === '80' ? true : undefined;
    });
    await page.reload();
    await see(page.locator('.standing_sentence'));
    await shot('changed_done');
  },
};

/** A backfill of two weeks that is cancelled, and the rest of it. */
export const backfill: Journey = {
  name: 'Backfill, abort, the rest',
  walk: async (world, { page, press, type, key, choose, see, shot }) => {
    const project_id = await world.newProject('Backfilled');
    const day_ms = 86_400_000;
    const days = Array.from({ length: 15 }, (_, at) => new Date(Date.now() - (at + 1) * day_ms));
    await world.ask('POST', `/api/projects/${project_id}/events/`, {
      events: days.flatMap((day, at) =>
        Array.from({ length: 60 }, (_, number) => ({
          event: 'ordered',
          distinct_id: `buyer-${at}-${number}`,
          timestamp: day.toISOString(),
        })),
      ),
    });
    const base = `/api/projects/${project_id}/batch_exports/`;
    const { id } = await world.ask('POST', base, {
      name: 'Two weeks',
      interval: 'hour',
      destination: { type: 'File', config: { prefix: 'month' } },
    });
    await world.signIn(page);
    await page.goto(`/projects/${project_id}/exports/${String(id)}`);
    await press('Backfill');
    const written = (date: Date) => `${date.toISOString().slice(0, 10)} 00:00`;
    await type('From (UTC)', written(days.at(-1)!));
    await type('Until (UTC)', written(new Date(Date.now() + day_ms)));
    await key('Enter');
    await choose('Range by', 'timestamp');
    await see(page.getByRole('button', { name: 'Deliver 900 rows' }));
    await shot('backfill_plan');
    await press('Deliver 900 rows');
    const repair = page.getByRole('region', { name: 'Backfill' });
    await see(repair.getByText(/ended, [1-9]\d* rows delivered/));
    await press(/^Abort/);
    await press(page.getByRole('dialog').getByRole('button', { name: 'Abort the backfill' }));
    await see(repair.getByText(/Cancelled/));
    const offered = repair.getByRole('button', { name: /^Deliver the remaining/ });
    // All undelivered rows, after the end of the cancelled runs.
    await until('the offer of the rest', 60_000, 500, async () => {
      const numberIn = async (text: string, pattern: RegExp) =>
        Number(pattern.exec(text.replaceAll(',', ''))?.[1]);
      const done = await numberIn(await repair.innerText(), /(\d+) rows delivered/);
      const rest = await numberIn(await offered.innerText(), /(\d+) rows/);
      return done + rest === 900 ? true : undefined;
    });
    await see(offered);
    await shot('backfill_aborted');
    await press(offered);
    await repair.getByText('Completed').waitFor({ timeout: 240_000 });
    await see(repair.getByText('Completed'));
    await shot('backfill_done');
    const { results } = await world.ask('GET', `${base}${String(id)}/runs/?limit=100`);
    assert.ok(results.length > 0);
  },
};
