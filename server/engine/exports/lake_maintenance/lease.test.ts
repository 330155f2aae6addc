import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { eventually } from '../../../../test/eventually.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { delta_tables } from './delta/delta_work.ts';
import { whileUnmaintained } from './lease.ts';

const harness = shareHarness();

test('a lease is renewed while work lasts, and its loss ends the work', async (t) => {
  const { db, engine } = harness.deps;
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const table = { id, team_id: home.project.id };
  const kind = { ...delta_tables, open: async (_: unknown, __: unknown, own: AbortSignal) => own };
  const work = (run: (own: AbortSignal) => Promise<string>) =>
    whileUnmaintained(engine, kind as never, table, new AbortController().signal, run as never);
  const age = () =>
    db.run(sql`UPDATE delta_maintenance SET claimed_at = now() - interval '50 s'
      WHERE batch_export_id = ${id}`);
  const isRenewed = () =>
    db.row(sql`SELECT 1 FROM delta_maintenance WHERE batch_export_id = ${id}
      AND claimed_at > now() - interval '40 s'`);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const done = await work(async (own) => {
    assert.equal(await work(async () => 'twice'), undefined, 'two worked on the table');
    await age();
    t.mock.timers.tick(15_000);
    await eventually('not renewed', async () => (await isRenewed()) !== undefined);
    assert.equal(own.aborted, false);
    const other = randomUUID();
    await db.run(sql`UPDATE delta_maintenance SET claim_id = ${other}::uuid
      WHERE batch_export_id = ${id}`);
    const lost = once(own, 'abort');
    t.mock.timers.tick(15_000);
    await lost;
    return 'lost';
  });
  assert.equal(done, 'lost');
  const row = await db.row<{ is_claimed: boolean }>(sql`SELECT claim_id IS NOT NULL AS is_claimed
    FROM delta_maintenance WHERE batch_export_id = ${id}`);
  assert.deepEqual(row, { is_claimed: true }, 'it gave back the lease of another');
});
