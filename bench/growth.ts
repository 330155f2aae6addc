// Measures costs that could grow with the stored data: the processor time of PostgreSQL and of this
// process for one request, at growing numbers of exports, runs, members, keys and rectangles of a
// ledger; and the processor time of all processes for one row of exports of growing size. A page
// must not cost more because more is stored beside its rows.
//   npm run bench growth [-- --way runs] [--exports 10,1000,10000,100000] [--runs 1000,1000000]
//   [--members 10,10000,100000] [--rectangles 10,1000,100000] [--rows 10000,1000000,10000000]
// `--runs 1000,10000000` takes five minutes and 15 GB, `--rows 10000,100000000` half an hour and 40
// GB (that many rows as Parquet alone).
// `--plans overview` shows the plans of the ways with this word in place of the times.
import { buildApp } from '../server/app.ts';
import { newExport } from '../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../test/harness.ts';
import { numbersOf, readBenchOptions, tell } from './measure/figures.ts';
import { plansOf, tellPlans } from './growth/plans.ts';
import { growRows } from './growth/rows.ts';
import { dimensions } from './growth/ways.ts';
import type { Place, Way } from './growth/ways.ts';
import { median } from './measure/median.ts';
import { processorTime } from './measure/processor_time.ts';

const options = readBenchOptions({
  way: '',
  exports: '10,1000,10000,100000',
  runs: '1000,100000,1000000',
  members: '10,10000,100000',
  rectangles: '10,1000,100000',
  rows: '10000,100000,1000000,10000000',
  plans: '',
  rounds: '3',
});
type Name = keyof typeof dimensions;
/**
 * Each way is repeated until it used this much processor time. The kernel counts in steps of 10 ms,
 * so less would not show growth.
 */
const used_us_min = 200_000;
/**
 * The least number of repetitions. It is then doubled, because reading the counters takes a
 * millisecond.
 */
const times_min = 5;
/**
 * Number of times that PostgreSQL plans a statement with its values; after that, one plan may serve
 * all values.
 */
const before_prepared = 6;

/** Milliseconds of processor time of one request, in each round. */
async function cost(way: Way, place: Place): Promise<number[]> {
  for (let count = 0; count < before_prepared; count += 1) await way(place);
  const found: number[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const before = processorTime(process.pid, 'with children');
    let [times, used] = [0, 0];
    while (used < used_us_min) {
      const more = Math.max(times_min, times);
      for (let count = 0; count < more; count += 1) await way(place);
      times += more;
      used = processorTime(process.pid, 'with children') - before;
    }
    found.push(used / times / 1_000);
  }
  return found;
}

async function showPlans(way: string, ways: Record<string, Way>, place: Place): Promise<void> {
  if (!way.includes(options.plans)) return;
  for (let count = 0; count < before_prepared; count += 1) await ways[way]!(place);
  const plans = await plansOf(() => ways[way]!(place));
  console.log(`\n## ${way}\n\n${plans.join('\n\n')}`);
}

async function grow(name: Name): Promise<void> {
  const { plant, ways } = dimensions[name];
  const harness = await openHarness({ clickhouse: false, watch: false, build: buildApp });
  try {
    if (options.plans !== '') await tellPlans(harness.deps.db);
    const home = await harness.newOrganization();
    const { id } = await newExport(home, { interval: 'every 5 minutes', paused: true });
    const place = { harness, home, id, cookie: await harness.newSession(home.user) };
    const sizes = numbersOf(options[name]);
    const found = new Map(Object.keys(ways).map((way) => [way, [] as number[][]]));
    let before = 0;
    for (const size of sizes) {
      const began = performance.now();
      await plant(place, size, before);
      await harness.deps.db.text('VACUUM ANALYZE');
      console.log(`${size} ${name}: planted in ${Math.ceil((performance.now() - began) / 1e3)} s`);
      before = size;
      for (const [way, costs] of found)
        if (options.plans === '') costs.push(await cost(ways[way]!, place));
        else if (size === sizes.at(-1)) await showPlans(way, ways, place);
    }
    if (options.plans === '') show(name, sizes, found);
  } finally {
    // Empties the store first, because `close` searches all of it for secrets.
    await harness.deps.db.text('TRUNCATE organizations, users CASCADE');
    await harness.close();
  }
}

function show(name: Name, sizes: number[], found: Map<string, number[][]>): void {
  const cells = (values: readonly (number | string)[]) => `| ${values.join(' | ')} |`;
  console.log(cells([`ms of processor time, by ${name}`, ...sizes]));
  console.log(cells(['---', ...sizes.map(() => '---')]));
  for (const [way, costs] of found)
    console.log(cells([way, ...costs.map((rounds) => Number(median(rounds).toPrecision(2)))]));
  for (const [way, costs] of found)
    tell({
      what: `Growth: ${way}, where there are ${sizes.at(-1)} ${name}`,
      unit: 'ms of processor',
      better: 'less',
      ours: costs.at(-1)!,
      beside: { name: `where there are ${sizes[0]}`, rounds: costs[0]! },
    });
}

for (const name of Object.keys(dimensions) as Name[])
  if (name.includes(options.way)) await grow(name);
if ('rows'.includes(options.way) && options.plans === '')
  await growRows(numbersOf(options.rows), Number(options.rounds));
