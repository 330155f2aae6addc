import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../test/harness.ts';
import { erase } from './erasures.ts';
import { UserError } from './user_error.ts';

const harness = shareHarness({ clickhouse: false });

test('an id that nobody can have asks for no erasure', async () => {
  const { project } = await harness.newOrganization();
  for (const distinctId of [[''], ['ann', ''], ['x'.repeat(401)]])
    await assert.rejects(erase(harness.deps, String(project.id), { distinctId }), UserError);
  const asked = await harness.deps.db.rows(
    sql`SELECT 1 FROM erasures WHERE team_id = ${project.id}`,
  );
  assert.deepEqual(asked, []);
  assert.match(await erase(harness.deps, String(project.id), { distinctId: ['ann'] }), /is asked/);
});
