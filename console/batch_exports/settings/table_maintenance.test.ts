import { test } from 'node:test';
import sql from 'sql-template-tag';
import { folderAroundTests } from '../../../test/around_tests.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';

const export_dir = folderAroundTests();
const world = openConsole({ clickhouse: true, config: { export_dir } });
const { skip } = world;

test('the settings of a Delta export show its maintenance, and begin it', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const { id } = await newExport(home, { name: 'Delta', destination });
  await world.harness.deps.db.run(sql`
    INSERT INTO delta_maintenance (batch_export_id, due_at, finished_at, changed_at, result)
    VALUES (${id}, now() + interval '20 minutes', now() - interval '10 minutes',
      now() - interval '10 minutes', '{"files_compacted": 24, "files_written": 1}')`);
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/exports/${id}/settings`);
  await page.getByRole('heading', { name: 'Maintenance of the table' }).waitFor();
  await page.getByText('Files merged').waitFor();
  await checkEverywhere(page, 'table_maintenance');
  await page.getByRole('button', { name: 'Maintain the table now' }).click();
  await page.getByText('A round begins within a minute.').waitFor();
  await leave();
});
