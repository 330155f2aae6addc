import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderAroundTests } from '../../../../test/around_tests.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { file_place } from '../file/file.ts';
import { openTableFiles } from './table_files.ts';

const export_dir = folderAroundTests();

test('maintenance reads and removes files of its project and namespace alone', async () => {
  const deps = { export_dir, signal: new AbortController().signal } as DestinationDeps;
  const theirs = join(export_dir, 'lake/2/sluice/events/data/a.parquet');
  for (const id of [1, 2]) {
    await mkdir(join(export_dir, `lake/${id}/sluice/events/data`), { recursive: true });
    await writeFile(join(export_dir, `lake/${id}/sluice/events/data/a.parquet`), String(id));
  }
  const own = `file://${export_dir}/lake/1/sluice/events`;
  const folder = `file://${export_dir}/lake/1/sluice`;
  const files = await openTableFiles(file_place, {}, { team_id: 1, folder }, deps);
  assert.equal(String(await files.read(`${own}/data/a.parquet`)), '1');
  assert.equal(String(await files.read(`${own}/data/a.parquet`.replace('///', '/'))), '1');
  for (const uri of [
    `file://${theirs}`,
    `file:${theirs}`,
    `${own}/../../../2/sluice/events/data/a.parquet`,
    `${own}/./data/a.parquet`,
    'file:///etc/passwd',
    `file://${export_dir}/lake/1/other/events/data/a.parquet`,
    `file://${export_dir}/lake/1/sluice-other/data/a.parquet`,
  ]) {
    await assert.rejects(files.read(uri), /lies outside of/, uri);
    await assert.rejects(files.put(uri, 'x'), /lies outside of/, uri);
    await assert.rejects(files.remove(uri), /lies outside of/, uri);
  }
  assert.ok(existsSync(theirs));
  await files.remove(`${own}/data/a.parquet`);
  assert.equal(await files.read(`${own}/data/a.parquet`), undefined);
});
