import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { shareHarness } from '../../../../test/harness.ts';
import { event } from '../../../../test/factories/events/ingestions.ts';
import { rememberErased, withoutErased } from './erased_ids.ts';
import type { LateEvents } from './erased_ids.ts';

const harness = shareHarness({ clickhouse: false });

/** The person of a late event of somebody who was erased so, one time after the other. */
async function lateOf(erasures: LateEvents[]): Promise<string | undefined> {
  const { db, secrets } = harness.deps;
  const { project } = await harness.newOrganization();
  for (const late_events of erasures)
    await rememberErased(
      db,
      secrets,
      { team_id: project.id, erasure_id: randomUUID(), late_events },
      ['ada'],
    );
  const events = [event({ distinct_id: 'ada' }), event({ distinct_id: 'bob' })];
  const [ofAda, ofBob] = await db.transaction((tx) =>
    withoutErased({ tx, secrets, warn: () => undefined }, project.id, events),
  );
  assert.equal(ofBob, events[1]);
  return ofAda?.distinct_id;
}

test('a person erased twice is refused if either erasure asked for it', async () => {
  assert.equal(await lateOf(['anonymize']), '$erased');
  assert.equal(await lateOf(['refuse']), undefined);
  assert.equal(await lateOf(['anonymize', 'refuse']), undefined);
  assert.equal(await lateOf(['refuse', 'anonymize']), undefined);
});
