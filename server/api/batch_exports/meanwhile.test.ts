import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import {
  newExport,
  noop_export,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';

const harness = shareHarness();

const waits = (many: number) =>
  eventually(
    `${many} requests do not wait.`,
    async () => (await countWaiting(harness.deps.db)) === many,
  );

test('a change that was checked before another was stored keeps what that one sent', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { custom_query: 'SELECT uuid FROM events' });
  const patch = (body: object) => home.ask('PATCH', `${projectBase(home)}${id}/`, body);
  const custom_query = 'SELECT distinct_id AS person FROM events';
  const sent = await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${id} FOR UPDATE`);
    const first = patch({ custom_query });
    await waits(1);
    const second = patch({ name: 'Renamed' });
    await waits(2);
    return [first, second];
  });
  const [first, second] = await Promise.all(sent);
  assert.deepEqual([first!.status, second!.status], [200, 200]);
  assert.deepEqual(second!.body, {
    ...first!.body,
    name: 'Renamed',
    last_updated_at: second!.body.last_updated_at,
  });
  assert.deepEqual(
    [second!.body.custom_query, second!.body.schema.fields[0].alias],
    [custom_query, 'person'],
  );
});

test('an export whose project is deleted meanwhile is refused as if it came after', async () => {
  const create = (home: TestOrganization, base: string, body: object = {}) =>
    home.ask('POST', base, { ...noop_export, ...body });
  const cases: [(home: TestOrganization) => ReturnType<typeof create>, number][] = [
    [(home) => create(home, projectBase(home)), 404],
    [(home) => create(home, organizationBase(home), { team_id: home.project.id }), 400],
    [(home) => create(home, organizationBase(home)), 400],
  ];
  for (const [ask, status] of cases) {
    const home = await harness.newOrganization();
    const sent = await harness.deps.db.transaction(async (tx) => {
      await tx.run(sql`DELETE FROM projects WHERE id = ${home.project.id}`);
      const answer = ask(home);
      await waits(1);
      return { answer };
    });
    assert.equal((await sent.answer).status, status);
  }
});
