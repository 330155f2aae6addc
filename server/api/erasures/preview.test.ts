import assert from 'node:assert/strict';
import { test } from 'node:test';
import { erasing } from '../../../test/factories/events/erasures.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: true });
const { ask, send } = erasing(() => ({ harness }));

test('as many ids as one erasure may name are counted, however long they are', async () => {
  const home = await harness.newOrganization();
  const distinct_ids = Array.from({ length: 1_000 }, (_none, id) => `${id}`.padEnd(400, 'é'));
  await send(home, [{ event: 'seen', distinct_id: distinct_ids[7], $set: { a: 1 } }]);
  const { status, body, text } = await ask(home, 'POST', 'erasures/preview/', { distinct_ids });
  assert.equal(status, 200, text);
  const size = { events: 1, person_versions: 1, refused_events: 0 };
  assert.deepEqual(body, { distinct_ids: 1_000, ...size });
  const [row] = await harness.deps.clickhouse.rows<{ person_id: string }>({
    query: `SELECT any(person_id) AS person_id FROM events WHERE team_id = ${home.project.id}`,
  });
  const by_person = await ask(home, 'POST', 'erasures/preview/', { person_ids: [row!.person_id] });
  assert.deepEqual(by_person.body, { distinct_ids: 1, ...size });
});
