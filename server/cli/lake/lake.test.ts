import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newLakeTable } from '../../../test/factories/batch_exports/lake_tables.ts';
import type { TestTable } from '../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { openSluice } from '../../../test/processes/sluice_process.ts';
import { maintainTables } from '../../engine/exports/lake_maintenance/work.ts';

const sluice = openSluice();
let exporting: QueryHarness;
let table: TestTable;
let environment: Record<string, string>;
before(async () => {
  exporting = await openQueryHarness();
  const made = await newLakeTable(exporting, { hours: 3 });
  table = made;
  const address = await exporting.harness.app.listen({ host: '127.0.0.1', port: 0 });
  environment = { SLUICE_URL: address, SLUICE_API_KEY: made.home.key };
});
after(async () => {
  await sluice.close();
  await exporting.close();
});

const run = async (...words: string[]) => {
  const { code, out, err } = await sluice.run(['lake', ...words], environment);
  assert.equal(code, 0, err);
  return out.trim();
};

test('tables are listed, shown by name, and maintained when somebody asks', async () => {
  const [name, rows, files] = (await run('list')).split('\t');
  assert.deepEqual([name, rows, files], ['sluice.events', '6', '3']);
  assert.equal(await run('tables'), await run('list'), 'the name in earlier releases');
  const before = JSON.parse(await run('show', 'sluice.events', '--json'));
  assert.deepEqual([before.id, before.maintenance.finished_at], [table.id, null]);
  assert.match(await run('maintain', 'sluice.events'), /^Maintenance of sluice.events starts/);
  await maintainTables(exporting.harness.deps.engine, new AbortController().signal);
  const shown = await run('show', table.id);
  assert.match(shown, /files compacted\s+3/);
  assert.match(shown, /latest round\s+20/);
  const { code, err } = await sluice.run(['lake', 'show', 'sluice.none'], environment);
  assert.deepEqual(
    [code, err.trim()],
    [1, 'There is no table "sluice.none". `sluice lake list` lists all.'],
  );
});
