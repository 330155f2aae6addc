import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { maintainTable } from '../../../engine/exports/lake_maintenance/maintain.ts';
import type { FoundExport } from './schema.ts';

const exporting = aroundTests(openQueryHarness);

test('a row of an Iceberg table is found in the file that has it now', async () => {
  const table = await newLakeTable(exporting, { hours: 2, events: 2 });
  const find = async (uuid: unknown): Promise<FoundExport> => {
    const { home } = table;
    const path = `/api/projects/${home.project.id}/find/?uuid=${String(uuid)}`;
    const { status, text, body } = await home.ask('GET', path);
    assert.equal(status, 200, text);
    return body.records[0].exports[0];
  };
  const [[uuid]] = (await table.rows(['uuid'])) as [[string]];
  const before = await find(uuid);
  const written = await table.live();
  assert.deepEqual([before.state, before.slice!.records], ['delivered', 2]);
  assert.equal(written.length, 2);
  const file = written.find(({ path }) => path.endsWith(before.slice!.name!));
  assert.ok(file !== undefined, before.slice!.name!);
  assert.doesNotMatch(before.detail, /moved/);
  await maintainTable(await table.open(), { is_daily: true, cleans: true });
  const [now, ...others] = await table.live();
  assert.deepEqual([others.length, now!.records], [0, 4]);
  const after = await find(uuid);
  assert.deepEqual([after.state, after.slice!.name], ['delivered', before.slice!.name]);
  assert.ok(after.detail.includes(`Maintenance moved its row to ${now!.path}`), after.detail);
});
