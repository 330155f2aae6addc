import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { counter_max } from './schema.ts';

const harness = shareHarness({ clickhouse: false });

test('a list has the same bytes of a run as the run itself and its export', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { paused: true });
  const runs = [
    await insertRunRow(harness, id),
    await insertRunRow(harness, id, { status: 'Failed', total: counter_max + 1, hour: 1 }),
  ];
  const steps = [1, 2].map((attempt) => ({
    attempt,
    began_at: '2026-01-01T00:00:00.000000Z',
    waited_ms: 7,
    counted_ms: 1,
    read_ms: null,
    sent_ms: null,
    committed_ms: null,
  }));
  await harness.deps.db.run(sql`
    UPDATE batch_export_runs SET "cursor" = '3', bytes_completed = 9007199254740991,
      latest_error = ${'A "text": \\ / \u0001\b\f\n\r\t\u001f\u007f\u2028 ä 🦥, [1, 2]'},
      error_code = 'refused, "by": them', cancel_requested_at = '2026-01-01T00:00:00.000001Z',
      steps = ${JSON.stringify(steps)}::jsonb
    WHERE id = ${runs[1]}`);
  const texts = await Promise.all(
    runs.map(async (run) => {
      const path = `${projectBase(home)}${id}/runs/${run}/`;
      return (await home.ask('GET', path)).text;
    }),
  );
  const of_export = await home.ask('GET', `${projectBase(home)}${id}/`);
  assert.ok(of_export.text.includes(`"latest_runs":[${texts.toReversed().join()}]`));
  for (const base of [projectBase(home), organizationBase(home)]) {
    const { text } = await home.ask('GET', base);
    assert.equal(text, `{"count":1,"next":null,"previous":null,"results":[${of_export.text}]}`);
  }
});
