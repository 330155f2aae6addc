import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../test/harness.ts';
import { erase, listErasures } from './erasures.ts';
import { UserError } from './user_error.ts';

const harness = shareHarness({ clickhouse: true });

test('an id that nobody can have asks for no erasure', async () => {
  const { project } = await harness.newOrganization();
  const never = () => assert.fail('it was asked');
  for (const distinctId of [[''], ['ann', ''], ['x'.repeat(401)]])
    await assert.rejects(
      erase(harness.deps, String(project.id), { distinctId }, never, never),
      UserError,
    );
});

test('it says what an erasure is about, asks, and without a yes changes nothing', async () => {
  const home = await harness.newOrganization();
  const { db } = harness.deps;
  const { id } = await newExport(home, {
    name: 'to a folder',
    destination: { type: 'File', config: { prefix: 'asked' } },
  });
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, records_completed, due_at, finished_at)
    VALUES (${id}, ${id}, ${home.project.id}, 1, ${id}, 'Completed', '2026-01-01Z', '2026-01-02Z',
      '[]', 1, now(), now())`);
  await harness.request('POST', `/api/projects/${home.project.id}/events/`, {
    key: home.key,
    body: { events: [{ event: 'seen', distinct_id: 'ann', $set: { a: 1 } }] },
  });
  const told = async (answer: boolean) => {
    const lines: string[] = [];
    const wanted = { distinctId: ['ann', 'eve'] };
    const code = await erase(
      harness.deps,
      String(home.project.id),
      wanted,
      (line) => void lines.push(line),
      async () => (lines.push('asked'), answer),
    );
    const asked = await db.rows(sql`SELECT 1 FROM erasures WHERE team_id = ${home.project.id}`);
    return { code, lines, erasures: asked.length };
  };
  const no = await told(false);
  assert.deepEqual([no.code, no.erasures], [1, 0]);
  assert.match(no.lines[0]!, /concerns 2 distinct ids, 1 event and 1 version of persons of /);
  assert.match(no.lines[1]!, /may have delivered some of these rows: "to a folder" \(File\)\.$/);
  assert.equal(no.lines[2], 'asked');
  const yes = await told(true);
  assert.deepEqual([yes.code, yes.erasures], [0, 1]);
  assert.match(yes.lines.at(-1)!, /is requested/);
  const text = await listErasures(harness.deps);
  assert.match(
    text,
    new RegExp(`^erasing  .*: persons of project ${home.project.id}, asked `, 'm'),
  );
  assert.match(text, /^Signatures are Ed25519 .*; public key /m);
});
