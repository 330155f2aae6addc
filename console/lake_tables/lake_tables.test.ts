import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folderAroundTests } from '../../test/around_tests.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { newLakeTable } from '../../test/factories/lake_tables.ts';

const export_dir = folderAroundTests();
const world = openConsole({ clickhouse: true, config: { export_dir } });
const { skip } = world;
const hostile = `a<img src=x onerror="document.title='taken'">`;

test('a project without tables leads to the export that creates one', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/lake`);
  await page.getByText('No tables yet').waitFor();
  await checkEverywhere(page, 'lake_empty');
  await page.getByRole('link', { name: 'Create Iceberg export' }).click();
  await page.locator('[name=destination__config__table]').waitFor();
  await leave();
});

test('a table shows its rows and files, its history, and how it is read', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const { metadata } = await newLakeTable(home, 'sales', hostile.replaceAll('/', ''));
  const path = `/iceberg/v1/${home.project.id}/namespaces/sales/tables/${encodeURIComponent(hostile)}`;
  for (const id of [1, 2]) await commit(home, path, metadata.location, id);
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/lake`);
  await page.getByRole('link', { name: `sales.${hostile}` }).waitFor();
  await checkEverywhere(page, 'lake');
  await page.getByRole('link', { name: `sales.${hostile}` }).click();
  await page.getByRole('heading', { name: 'Snapshots' }).waitFor();
  await page.getByText('Another writer').first().waitFor();
  assert.equal(await page.getByText('Another writer').count(), 2);
  await page.getByText('could not read the manifests').waitFor();
  await page.getByRole('tab', { name: 'Trino' }).click();
  await page.getByText('Not run here: Trino needs Java 25.').waitFor();
  await checkEverywhere(page, 'lake_table');
  await leave();
});

async function commit(
  home: {
    ask(method: string, path: string, body: unknown): Promise<{ status: number; text: string }>;
  },
  path: string,
  location: string,
  id: number,
): Promise<void> {
  const snapshot = {
    'snapshot-id': id,
    'sequence-number': id,
    'timestamp-ms': Date.now() + id,
    'manifest-list': `${location}/metadata/snap-${id}.avro`,
    summary: {
      operation: 'append',
      'added-records': '1200',
      'total-records': String(1_200 * id),
      'total-data-files': String(id),
      'total-files-size': '123456',
    },
  };
  const ref = { 'ref-name': 'main', type: 'branch', 'snapshot-id': id };
  const updates = [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', ...ref },
  ];
  const { status, text } = await home.ask('POST', path, { requirements: [], updates });
  assert.equal(status, 200, text);
}
