import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../around_tests.ts';
import { inTurn, is_deep } from '../depth.ts';
import { openQueryHarness } from '../factories/batch_exports/query_exports.ts';
import { openLooked, plantChanges, playWeek, takeAway } from './campaign.ts';
import { openers } from './places.ts';

const exporting = aroundTests(openQueryHarness);

// `npm run verification` plants more of them, and plays a week.
for (const [name, open] of inTurn(Object.entries(openers), 3))
  test(`a look finds each planted change and nothing else: ${name}`, async (context) => {
    const place = await open(exporting);
    if (place === undefined) return context.skip('It is not installed.');
    context.after(() => place.close());
    const looked = await openLooked(exporting, place);
    await looked.deliver(is_deep ? 24 : 4);
    await looked.look();
    const tally = await plantChanges(place, looked, { seed: 55, changes: is_deep ? 40 : 6 });
    assert.deepEqual([tally.found, tally.false_alarms], [tally.planted, 0], JSON.stringify(tally));
    if (place.dropColumn !== undefined) {
      await place.dropColumn();
      await looked.look();
      assert.notEqual((await looked.found()).length, 0, 'a dropped column is not found');
    }
    if (place.away !== undefined) {
      const { stands_still, reason } = await takeAway(exporting, place, looked);
      assert.ok(stands_still, 'it moved while nothing answered');
      assert.notEqual(reason, null);
    }
  });

test('days of maintenance, erasure and retention raise no alarm', async () => {
  for (const name of is_deep ? ['File', 'PostgreSQL', 'Iceberg'] : ['PostgreSQL']) {
    const place = (await openers[name]!(exporting))!;
    const looked = await openLooked(exporting, place);
    const week = await playWeek(exporting, place, looked, { days: 4, rows: 2 });
    assert.equal(week.false_alarms, 0, place.name);
    await place.close();
  }
});
