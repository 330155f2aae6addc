import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../test/harness.ts';
import { listErasures } from './store.ts';

const harness = shareHarness({ clickhouse: false });

test('a page counts the copies of its own erasures alone', async () => {
  const { organization, project } = await harness.newOrganization();
  const { db } = harness.deps;
  await db.run(sql`
    INSERT INTO erasures (id, organization_id, team_id, kind, late_events, asked, status, step,
      created_at, finished_at)
    SELECT gen_random_uuid(), ${organization.id}::uuid, ${project.id}, 'events', 'refuse', '{}',
      'Completed', 'done', now() - day * interval '1 day', now() FROM generate_series(1, 5) day`);
  const page = listErasures(project.id).rows({ limit: 1, offset: 3 });
  const rows = await db.rows<{ created_at: string }>(page);
  assert.equal(rows.length, 1);
  const { rows: lines } = await db.text(`EXPLAIN ANALYZE ${page.text}`, page.values);
  const looks = lines
    .map((row) => String(row['QUERY PLAN']))
    .filter((line) => /_copies/.test(line));
  assert.match(looks[0] ?? '', /loops=1\)/, looks.join('\n'));
});
