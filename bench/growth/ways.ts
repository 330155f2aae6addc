// The requests of growth.ts, and the rows that it plants before them at each size.
import sql from 'sql-template-tag';
import { addDelivered, undelivered } from '../../server/engine/model/ledger/ledger.ts';
import { judgeFreshness } from '../../server/engine/exports/health/freshness.ts';
import { listComparableRows } from '../../server/engine/exports/health/store.ts';
import { claimRuns } from '../../server/engine/exports/workers/claims.ts';
import { planDueExports } from '../../server/engine/exports/runs/plan_due_exports.ts';
import { projectBase } from '../../test/factories/batch_exports/batch_exports.ts';
import type { Harness, TestOrganization } from '../../test/harness.ts';
import { plantExports } from '../plant/runs.ts';
import { plantMembers, plantRectangles, plantRuns } from '../plant/sizes.ts';

const hour_ms = 3_600_000;

/**
 * The surroundings of a request: a server with planted rows, and the person who sends the request.
 */
export type Place = { harness: Harness; home: TestOrganization; id: string; cookie: string };
/** A request, or a part of a worker's work. */
export type Way = (place: Place) => Promise<unknown>;

const get =
  (path: (place: Place) => string): Way =>
  async (place) => {
    const answer = await place.harness.app.inject({
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

const overview = (more: string) =>
  get(({ home }) => `/api/projects/${home.project.id}/overview/?limit=10${more}`);
const slots = (hours: number) =>
  get(({ home, id }) => {
    const after = new Date(Date.now() - hours * hour_ms).toISOString();
    return `${projectBase(home)}${id}/slots/?after=${after}`;
  });

const worker_ways: Record<string, Way> = {
  'planner, nothing due': ({ harness }) => planDueExports(harness.deps.engine),
  'claim, nothing waits': ({ harness }) =>
    claimRuns(
      harness.deps.db,
      {
        worker_id: '00000000-0000-4000-8000-000000000000',
        run_ids: [],
        stalled_run_ids: [],
        last_team_id: 0,
      },
      { project_runs_max: 4, host_runs_max: 4 },
      4,
    ),
  'freshness of all exports': ({ harness }) =>
    judgeFreshness({ ...harness.deps, settle_seconds: harness.deps.config.settle_seconds }),
};

/**
 * Does the ledger's part of a run, for an hour that is missing; `share` is its place in the
 * history. The ledger stays unchanged.
 */
const planAndComplete =
  (share: number): Way =>
  async ({ harness, id }) => {
    const row = await harness.deps.db.row<{ from: string }>(
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
    await harness.deps.db
      .transaction(async (tx) => {
        const selection = await undelivered(tx, id, 1, [base]);
        await addDelivered(tx, [{ batch_export_id: id, revision: 1, selection }]);
        throw nothing_is_kept;
      })
      .catch((error: unknown) => {
        if (error !== nothing_is_kept) throw error;
      });
  };

/** Does the comparison that follows the end of a run. */
const compare: Way = async ({ harness, id }) => {
  const row = await harness.deps.db.row<{ at: string }>(
    sql`SELECT date_trunc('hour', now()) AS at FROM batch_exports WHERE id = ${id}`,
  );
  const run = {
    batch_export_id: id,
    revision: 1,
    data_interval_start: row!.at,
    interval: 'hour' as const,
    timezone: 'UTC',
  };
  return listComparableRows(harness.deps.db, [run]);
};

type Dimension = {
  plant: (place: Place, size: number, before: number) => Promise<void>;
  ways: Record<string, Way>;
};
/** The ways of each dimension, and the function that grows it from `before` to `size`. */
export const dimensions: Record<'exports' | 'runs' | 'members' | 'rectangles', Dimension> = {
  exports: {
    plant: ({ harness, id }, size, before) =>
      plantExports(harness, id, { exports: size, from: before + 1, runs_each: 3 }),
    ways: {
      'an export': of_export(''),
      'list, first 10': of_project('?limit=10'),
      'list of the organization, first 10': of_organization('batch_exports/?limit=10'),
      'overview, first 10': overview(''),
      'overview, by name': overview('&ordering=name'),
      'overview, worst first': overview('&ordering=health'),
      ...worker_ways,
    },
  },
  runs: {
    plant: ({ harness, id }, size, before) => plantRuns(harness.deps.db, id, before, size),
    ways: {
      'an export': of_export(''),
      list: of_project(''),
      'runs, first 10': of_export('runs/?limit=10'),
      'runs, failed': of_export('runs/?limit=10&status=Failed'),
      'runs, timed out (none)': of_export('runs/?limit=10&status=TimedOut'),
      metrics: of_export('metrics/'),
      'timeline, first 10': of_export('timeline/?limit=10'),
      'slots of the newest week': slots(7 * 24),
      'overview, first 10': overview(''),
      'log, first 50': of_export('logs/'),
      'log, errors (none)': of_export('logs/?level=ERROR'),
      'volume of a run that ended': compare,
      ...worker_ways,
    },
  },
  members: {
    plant: ({ harness, home }, size, before) => plantMembers(harness.deps.db, home, before, size),
    ways: {
      organization: of_organization(''),
      'members, first 10': of_organization('members/?limit=10'),
      'keys, first 10': get(() => '/api/personal_api_keys/?limit=10'),
      activity: of_organization('activity/?limit=10'),
    },
  },
  rectangles: {
    plant: ({ harness, id }, size) => plantRectangles(harness.deps.db, id, size),
    ways: {
      'an export': of_export(''),
      'a run planned and completed': planAndComplete(1),
      'the same, years back': planAndComplete(0.5),
      'slots of the newest 20 hours': slots(20),
      'timeline, first 10': of_export('timeline/?limit=10'),
      'overview, first 10': overview(''),
    },
  },
};
