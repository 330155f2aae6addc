import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  attrsOf,
  newExport,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { isLater } from '../../../test/watchers/instants.ts';

const harness = shareHarness({ clickhouse: false });

const create = (home: TestOrganization, body: Record<string, unknown> = {}) =>
  newExport(home, body);

test('pause and unpause are idempotent, and PATCH paused does the same', async () => {
  const home = await harness.newOrganization();
  const created = await create(home);
  const url = `${projectBase(home)}${created.id}/`;
  const act = (verb: string, body?: unknown) => home.ask('POST', `${url}${verb}/`, body);
  assert.deepEqual((await act('unpause')).body, created);
  const once = (await act('pause')).body;
  assert.equal(once.paused, true);
  assert.ok(isLater(once.last_paused_at, created.created_at));
  assert.deepEqual((await act('pause', {})).body, once);
  assert.deepEqual(attrsOf(await act('unpause', { backfill: 'yes' })), ['backfill invalid_input']);
  const on = (await act('unpause')).body;
  assert.deepEqual([on.paused, on.last_paused_at], [false, once.last_paused_at]);
  assert.deepEqual((await act('unpause', { backfill: true })).body, on);
  const patch = (paused: boolean) => home.ask('PATCH', url, { paused });
  const again = (await patch(true)).body;
  assert.ok(again.paused && isLater(again.last_paused_at, once.last_paused_at));
  assert.deepEqual((await patch(true)).body, again);
  assert.equal((await patch(false)).body.paused, false);
  const lines = await home.ask('GET', `${url}logs/?search=pAuSeD`);
  assert.equal(lines.body.count, 4);
});

test('unpause continues with the present interval, or makes up for all missed ones', async () => {
  const home = await harness.newOrganization();
  const schedule = (id: string) =>
    harness.deps.db.row<{ planned_until: string; next_run_at: string | null }>(
      sql`SELECT planned_until, next_run_at FROM batch_exports WHERE id = ${id}`,
    );
  for (const backfill of [false, true]) {
    const created = await create(home, { paused: true });
    await harness.deps.db.run(
      sql`UPDATE batch_exports SET planned_until = '2026-01-01T00:00:00.000000Z',
        next_run_at = '2026-01-01T01:00:00.000000Z' WHERE id = ${created.id}`,
    );
    await home.ask('POST', `${organizationBase(home)}${created.id}/unpause/`, { backfill });
    const { planned_until, next_run_at } = (await schedule(created.id))!;
    const age_hours = (Date.parse(created.created_at) - Date.parse(planned_until)) / 3_600_000;
    if (backfill)
      assert.deepEqual(
        [planned_until, next_run_at],
        ['2026-01-01T00:00:00.000000Z', '2026-01-01T01:00:00.000000Z'],
      );
    else assert.ok(age_hours > -1 && age_hours < 1.1, planned_until);
  }
});
