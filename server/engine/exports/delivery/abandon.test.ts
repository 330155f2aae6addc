import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { claimRun } from '../workers/claims.ts';
import { executeRun } from './execute.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const exporting = aroundTests(openQueryHarness);

test('a run that may have left something behind says why it is still there', async () => {
  const { db, engine } = exporting.harness.deps;
  const home = await exporting.harness.newOrganization();
  await writeFile(join(exporting.folder, 'taken'), 'a file where a folder should be');
  const destination = { type: 'File', config: { prefix: 'taken/inside' } };
  const { id } = await exporting.scheduled(home, { destination });
  await exporting.insert(home, [{ event: 'one', at: '2026-01-01T00:10:00Z' }]);
  const [planned] = await exporting.plan(id);
  const run = (await claimRun(db, planned!.id, randomUUID()))!;
  await executeRun(engine, run, new AbortController().signal);
  const lines = await db.rows<{ message: string }>(
    sql`SELECT message FROM batch_export_logs WHERE run_id = ${run.id} AND message LIKE '%remain%'`,
  );
  assert.deepEqual(
    lines.map(({ message }) => message),
    [
      'Unfinished and invisible remains of this run at the destination could not be ' +
        'removed. The prefix cannot be a folder here: a part of it is too long or is a file. ' +
        'Choose another prefix. A retry of the run uses or removes them.',
    ],
  );
});
