import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import { addColumns, removeColumns } from '../../engine/model/schema/store.ts';

const exporting = aroundTests(openQueryHarness);

test('verify compares a column in files that the schema has lost since', async () => {
  const { harness, folder } = exporting;
  const home = await harness.newOrganization();
  const of = home.project.id;
  await exporting.insert(home, [
    { event: 'a', at: '2026-01-01T00:10:00Z', properties: { plan: 'free' } },
    { event: 'b', at: '2026-01-01T01:10:00Z', properties: { plan: 'free' } },
  ]);
  const wanted = [{ source: 'event', property: 'plan', type: 'text' }] as const;
  await harness.deps.db.transaction((tx) => addColumns(tx, of, wanted, null));
  const prefix = randomUUID();
  const destination = { type: 'File', config: { prefix } };
  const { id } = await exporting.scheduled(home, { destination, columns: 'typed' }, 1);
  await exporting.runAll(id);
  const removed = [{ source: 'event', column: 'p_plan' }] as const;
  await harness.deps.db.transaction((tx) => removeColumns(tx, of, removed));
  await exporting.extend(id, 2);
  await exporting.runAll(id);
  const files = await exporting.filesIn(prefix, '.jsonl');
  assert.deepEqual(
    files.map((file) => JSON.parse(file.toString()).p_plan),
    ['free', undefined],
  );
  const differences = async () => {
    const [finding] = await verifyExports(harness.deps.engine, id);
    return finding!.differences.map(({ detail }) => detail);
  };
  assert.deepEqual(await differences(), []);

  const [name] = (await readdir(join(folder, prefix))).filter((one) => one.endsWith('.jsonl'));
  const file = join(folder, prefix, name!);
  await writeFile(file, (await readFile(file, 'utf8')).replace('"free"', '"best"'));
  const found = await differences();
  assert.equal(found.length, 2, found.join('\n'));
  assert.match(found[0]!, /SHA-256 differs/);
  assert.match(found[1]!, /p_plan/);
});
