// Delivers to files, S3 (moto), PostgreSQL, MariaDB, ClickHouse, Iceberg and Delta, and changes
// there what somebody else could change: values, lost, doubled and foreign rows, flipped bytes, a
// dropped column. One look on schedule must find each change and nothing else. Then it plays days
// without such a change, with vacuum, compaction, erasure and retention, by the budget of an
// export. At last nothing answers at the place. With --weeks it plays weeks about which the
// schedule alone decides, and prints the share of processor time that its looks took.
// npm run verification [-- --seed 7 --changes 10000 --days 7 --weeks 2 --rows 300
//   --store PostgreSQL]
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import {
  openLooked,
  plantChanges,
  playSchedule,
  playWeek,
  takeAway,
} from '../../test/verification/campaign.ts';
import { openers } from '../../test/verification/places.ts';
import type { LookedPlace } from '../../test/verification/places.ts';
import { anySeed, readOptions } from '../options.ts';

const { seed, changes, days, weeks, rows, store } = readOptions({
  seed: anySeed(),
  changes: 10_000,
  days: 7,
  weeks: 2,
  rows: 300,
  store: '',
});
/** Hours of deliveries in which changes are planted. */
const deliveries_max = 240;
console.log(`${changes} changes, ${days} days of ${rows} rows an hour, seed ${seed}`);
const exporting = await openQueryHarness();
let is_right = true;
try {
  for (const [name, open] of Object.entries(openers)) {
    const place = store === '' || store === name ? await open(exporting) : undefined;
    if (place === undefined) continue;
    try {
      await play(place);
    } catch (error) {
      is_right = false;
      console.log(`${place.name}: ${error instanceof Error ? error.stack : String(error)}`);
    } finally {
      await place.close();
    }
  }
} finally {
  await exporting.close();
}
process.exitCode = is_right ? 0 : 1;

function shareOf(week: { looking_s: number; delivering_s: number }): string {
  return ((100 * week.looking_s) / week.delivering_s).toFixed(1);
}

async function play(place: LookedPlace) {
  const began = performance.now();
  if (days > 0) {
    const looked = await openLooked(exporting, place);
    const week = await playWeek(exporting, place, looked, { days, rows });
    console.log(`${place.name}: ${JSON.stringify(week)}, ${shareOf(week)} % of the processor time`);
    is_right &&= week.false_alarms === 0;
    await place.empty();
  }
  if (weeks > 0) {
    const looked = await openLooked(exporting, place);
    for (const week of await playSchedule(exporting, looked, { weeks, rows }))
      console.log(`${place.name}: by its schedule ${JSON.stringify(week)}, ${shareOf(week)} %`);
    await place.empty();
  }
  if (changes === 0) return;
  const looked = await openLooked(exporting, place);
  const share = Math.ceil(changes / Object.keys(openers).length);
  // Each delivery takes one change in a round, so more deliveries mean fewer rounds.
  await looked.deliver(Math.min(deliveries_max, Math.max(24, Math.ceil(share / 8))));
  await looked.look();
  const tally = await plantChanges(place, looked, { seed, changes: share });
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(`${place.name}: ${JSON.stringify(tally)}; ${seconds} s`);
  is_right &&= tally.found === tally.planted && tally.false_alarms === 0;
  if (place.dropColumn !== undefined) {
    await place.dropColumn();
    await looked.look();
    const found = (await looked.found()).length;
    console.log(`${place.name}: a dropped column is ${found > 0 ? 'found' : 'not found'}`);
    is_right &&= found > 0;
  }
  if (place.away === undefined) return;
  const { stands_still, reason } = await takeAway(exporting, place, looked);
  console.log(`${place.name}: away, it ${stands_still ? 'stands still' : 'moves'}: ${reason}`);
  is_right &&= stands_still && reason !== null;
}
