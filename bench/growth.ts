// What grows with what is stored: processor time of PostgreSQL and of this process for one request,
// at growing numbers of exports, runs, members, keys and rectangles of a ledger. What answers a
// page must not cost more where more is stored beside it. Run:
//   npm run bench growth [-- --way runs] [--exports 10,1000,10000] [--runs 1000,100000,1000000]
//   [--members 10,10000,100000] [--rectangles 10,1000,100000]
import { buildApp } from '../server/app.ts';
import sql from 'sql-template-tag';
import { addDelivered, undelivered } from '../server/engine/ledger/ledger.ts';
import { claimRuns } from '../server/engine/workers/claims.ts';
import { planDueExports } from '../server/engine/planning/plan.ts';
import { newExport, projectBase } from '../test/factories/batch_exports.ts';
import { openHarness } from '../test/harness.ts';
import type { Harness, TestOrganization } from '../test/harness.ts';
import { numbersOf, readOptions, tell } from './figures.ts';
import { median } from './median.ts';
import { plantExports } from './planted_runs.ts';
import { plantMembers, plantRectangles, plantRuns } from './planted_sizes.ts';
import { processorTime } from './processor_time.ts';

const options = readOptions({
  way: '',
  exports: '10,1000,10000',
  runs: '1000,100000,1000000',
  members: '10,10000,100000',
  rectangles: '10,1000,100000',
  rounds: '3',
});
/** So many times each is asked for; the accounts of processor time go in steps of 10 ms. */
const repeats = 20;

type Place = { house: Harness; home: TestOrganization; id: string; cookie: string };
type Way = (place: Place) => Promise<unknown>;

const get =
  (path: (place: Place) => string): Way =>
  async (place) => {
    const answer = await place.house.app.inject({
      method: 'GET',
      url: path(place),
      headers: { cookie: place.cookie },
    });
    if (answer.statusCode !== 200) throw new Error(`${path(place)}: ${answer.body}`);
  };
const of_export = (more: string) => get(({ home, id }) => `${projectBase(home)}${id}/${more}`);
const of_project = (more: string) => get(({ home }) => `${projectBase(home)}${more}`);
const of_organization = (more: string) =>
  get(({ home }) => `/api/organizations/${home.organization.id}/${more}`);

const overview = get(({ home }) => `/api/projects/${home.project.id}/overview/?limit=10`);

const worker_ways: Record<string, Way> = {
  'planner, nothing due': ({ house }) => planDueExports(house.deps.engine),
  'claim, nothing waits': ({ house }) =>
    claimRuns(
      house.deps.db,
      {
        worker_id: '00000000-0000-4000-8000-000000000000',
        run_ids: [],
        silent_run_ids: [],
        last_team_id: 0,
      },
      { project_runs_max: 4, host_runs_max: 4 },
      4,
    ),
};

const hour_ms = 3_600_000;

/**
 * What a run asks of the ledger, of an hour that was left out; `share` is where in the history. The
 * ledger stays as it was.
 */
const planAndComplete =
  (share: number): Way =>
  async ({ house, id }) => {
    const row = await house.deps.db.row<{ from: string }>(
      sql`SELECT created_at AS from FROM batch_exports WHERE id = ${id}`,
    );
    const hours = Math.floor((Date.now() - Date.parse(row!.from)) / hour_ms);
    const from = Date.parse(row!.from) + Math.floor((hours * share) / 2) * 2 * hour_ms + hour_ms;
    const base = {
      event_from: -Infinity,
      event_to: Infinity,
      inserted_from: from,
      inserted_to: from + hour_ms,
    };
    const nothing_is_kept = new Error('rolled back');
    await house.deps.db
      .transaction(async (tx) => {
        const selection = await undelivered(tx, id, 1, [base]);
        await addDelivered(tx, [{ batch_export_id: id, revision: 1, selection }]);
        throw nothing_is_kept;
      })
      .catch((error: unknown) => {
        if (error !== nothing_is_kept) throw error;
      });
  };

type Dimension = {
  plant: (place: Place, size: number, before: number) => Promise<void>;
  ways: Record<string, Way>;
};
const dimensions: Record<'exports' | 'runs' | 'members' | 'rectangles', Dimension> = {
  exports: {
    plant: ({ house, id }, size, before) =>
      plantExports(house, id, { exports: size, from: before + 1, runs_each: 3 }),
    ways: {
      'an export': of_export(''),
      'list, first 10': of_project('?limit=10'),
      'list of the organization, first 10': of_organization('batch_exports/?limit=10'),
      'overview, first 10': overview,
      ...worker_ways,
    },
  },
  runs: {
    plant: ({ house, id }, size, before) => plantRuns(house.deps.db, id, before, size),
    ways: {
      'an export': of_export(''),
      list: of_project(''),
      'runs, first 10': of_export('runs/?limit=10'),
      'runs, failed': of_export('runs/?limit=10&status=Failed'),
      metrics: of_export('metrics/'),
      timeline: of_export('timeline/'),
      'overview, first 10': overview,
      logs: of_export('logs/'),
      ...worker_ways,
    },
  },
  members: {
    plant: ({ house, home }, size, before) => plantMembers(house.deps.db, home, before, size),
    ways: {
      organization: of_organization(''),
      'members, first 10': of_organization('members/?limit=10'),
      'keys, first 10': get(() => '/api/personal_api_keys/?limit=10'),
      activity: of_organization('activity/?limit=10'),
    },
  },
  rectangles: {
    plant: ({ house, id }, size) => plantRectangles(house.deps.db, id, size),
    ways: {
      'an export': of_export(''),
      'a run planned and completed': planAndComplete(1),
      'the same, years back': planAndComplete(0.5),
      'slots of the newest day': of_export('slots/'),
      timeline: of_export('timeline/'),
      'overview, first 10': overview,
    },
  },
};
/** Milliseconds of processor time of one, in each round. */
async function cost(way: Way, place: Place): Promise<number[]> {
  for (let count = 0; count < 6; count += 1) await way(place);
  const found: number[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const before = processorTime(process.pid, 'with children');
    for (let count = 0; count < repeats; count += 1) await way(place);
    found.push((processorTime(process.pid, 'with children') - before) / repeats / 1_000);
  }
  return found;
}

async function grow(name: keyof typeof dimensions): Promise<void> {
  const { plant, ways } = dimensions[name];
  const house = await openHarness({ clickhouse: false, watch: false, build: buildApp });
  try {
    const home = await house.newOrganization();
    const { id } = await newExport(house, home, { interval: 'every 5 minutes', paused: true });
    const place = { house, home, id, cookie: await house.newSession(home.user) };
    const sizes = numbersOf(options[name]);
    const found = new Map(Object.keys(ways).map((way) => [way, [] as number[][]]));
    let before = 0;
    for (const size of sizes) {
      await plant(place, size, before);
      await house.deps.db.text('VACUUM ANALYZE');
      before = size;
      for (const [way, costs] of found) costs.push(await cost(ways[way]!, place));
    }
    const cells = (values: readonly (number | string)[]) => `| ${values.join(' | ')} |`;
    console.log(cells([`ms of processor time, by ${name}`, ...sizes]));
    console.log(cells(['---', ...sizes.map(() => '---')]));
    for (const [way, costs] of found)
      console.log(cells([way, ...costs.map((rounds) => median(rounds).toFixed(1))]));
    for (const [way, costs] of found)
      tell({
        what: `Growth: ${way}, where there are ${sizes.at(-1)} ${name}`,
        unit: 'ms of processor',
        better: 'less',
        ours: costs.at(-1)!,
        beside: { name: `where there are ${sizes[0]}`, rounds: costs[0]! },
      });
  } finally {
    await house.close();
  }
}

for (const name of Object.keys(dimensions) as (keyof typeof dimensions)[])
  if (name.includes(options.way)) await grow(name);
