import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHome } from '../../../../test/shared_home.ts';

const { harness, home } = shareHome();

test('rejected rows go to the place that rejected them again, and to no other', async () => {
  const destination = { type: 'File', config: { prefix: 'rejected' } };
  const { id } = (await newExport(home, { destination })) as { id: string };
  const run = await insertRunRow(harness, id, { status: 'Completed', total: 2 });
  await harness.deps.db.run(sql`
    UPDATE batch_export_runs SET records_rejected = 1, receipt = '{"source_records":3}'
    WHERE id = ${run}`);
  const redeliver = () =>
    home.ask('POST', `${projectBase(home)}${id}/runs/${run}/redeliver_rejected/`);
  await home.ask('PATCH', `${projectBase(home)}${id}/`, {
    destination: { config: { prefix: 'elsewhere' } },
  });
  const refused = await redeliver();
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.body.detail, /has changed since this run: it now delivers other rows/);
  const runs = await harness.deps.db.rows(
    sql`SELECT 1 FROM batch_export_runs WHERE batch_export_id = ${id}`,
  );
  assert.equal(runs.length, 1);
});
