import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueryHarness, TestEvent } from '../factories/batch_exports/query_exports.ts';
import { foundAt, right } from '../factories/batch_exports/refusing_tables.ts';
import { eventsWith, refused_query } from '../factories/batch_exports/rejected_rows.ts';

/** A table that refuses three rows. */
export type RedeliveryPlace = {
  destination: { type: string; config: Record<string, unknown> };
  /** The rows that it refuses. */
  refused: Partial<TestEvent>[];
  /** Makes the table accept all of them except the second one. */
  relent(): Promise<unknown>;
  /** Counts the rows in the table, and the rejected ones. */
  counts(): Promise<[number, number]>;
};

/** Events of 25, 1,000 and 25 characters, and the column types that refuse all, then one. */
export const too_long = {
  refused: ['ada', 'bob', 'ada'].map((distinct_id) => ({
    event: 'an event that is too long'.repeat(distinct_id === 'bob' ? 40 : 1),
    distinct_id,
  })),
  first: 'varchar(20)',
  wider: 'varchar(40)',
};

/** A run of 40 good rows and the rows that the place refuses. */
export async function refusedRun(exporting: QueryHarness, place: RedeliveryPlace) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, eventsWith(0, 40, place.refused));
  const { destination } = place;
  const body = { destination, custom_query: refused_query, rejected_rows: 'set_aside' };
  const { id, get, send } = await exporting.scheduled(home, body, 1);
  const [run] = await exporting.runAll(id);
  assert.equal(run!.status, 'Completed', run!.latest_error ?? '');
  return { home, id, get, send, run: run! };
}

/**
 * Registers the tests of rejected rows that are delivered again, with everything that a run does.
 */
export function testRedelivery(
  exporting: QueryHarness,
  name: string,
  freshPlace: () => Promise<RedeliveryPlace>,
): void {
  test(`refused rows are set aside, and delivered again once: ${name}`, async () => {
    const place = await freshPlace();
    const { id, get, send, run } = await refusedRun(exporting, place);
    const redeliver = async () => {
      const asked = await send('POST', `runs/${run.id}/redeliver_rejected/`);
      assert.equal(asked.status, 200, asked.text);
      await exporting.runAll(id);
      const { body } = await get(`runs/${asked.body.id}/`);
      return [body.latest_error, body.status, body.records_completed, body.records_rejected];
    };
    assert.deepEqual(await place.counts(), [40, 3]);
    assert.deepEqual(await foundAt(exporting, id), right);
    const { body: first } = await get(`runs/${run.id}/`);
    assert.deepEqual(
      [first.records_completed, first.records_rejected, first.records_total_count],
      [40, 3, 43],
    );
    await place.relent();
    for (const time of ['the first time', 'again']) {
      assert.deepEqual(await redeliver(), [null, 'Completed', 42, 1], time);
      assert.deepEqual(await place.counts(), [42, 1], time);
      assert.deepEqual(await foundAt(exporting, id), right, time);
    }
  });
}
