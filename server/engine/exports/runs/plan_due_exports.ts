import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { openSemaphore } from '../../../platform/pacing/semaphore.ts';
import type { Engine } from '../engine.ts';
import { settled, settledAtOnce } from '../../ingest/lock.ts';
import { toStored } from '../../model/ledger/rectangles.ts';
import { probe } from './count_windows.ts';
import type { Look, Parted } from './count_windows.ts';
import { countEnded } from './end_runs.ts';
import { intervalOf, planScheduledRuns } from './plan_scheduled_runs.ts';
import type { DueExport, Seen } from './plan_scheduled_runs.ts';

/**
 * Number of due exports in one transaction: few enough for short locks, many enough for thousands
 * in seconds.
 */
const exports_per_transaction_max = 500;
/** Every interval ends with a minute of the clock. */
const minute_ms = 60_000;
/** Number of exports whose rows are counted together before planning. */
const exports_per_look_max = 10_000;
const exports_per_team_max = 500;
const teams_per_turn_max = 500;
/** Number of concurrent transactions: one waits while another works. */
const at_once_max = 2;
/** Number of projects whose ingestion is awaited at a time. */
const waits_at_once_max = 4;
/** Longest wait of planning for a project's ingestion before it continues with the next one. */
const lock_seconds_max = 5;
/** Longest shared wait of many projects for a lock on one of them. */
const shared_wait_seconds_max = 1;

/** Instants below which the rows of projects are final, as a primary has promised. */
type Settled = { epoch: number; final: Map<number, string> };

type Options = {
  /** Finds the runs that would have no rows. */
  look?: Look;
  /** Called each time runs have been written. */
  onPlanned?: () => void;
  /** Called if nothing is due, with the milliseconds until the next intervals may be. */
  onNothingDue?: (wait_ms: number) => void;
};

/**
 * Records the delay of the oldest due export without planning. So the metric grows in an API
 * process even if no worker plans.
 */
export async function notePlannerLag(engine: Engine): Promise<void> {
  const settledBefore = await settledInstant(engine);
  // Uses batch_exports_due.
  const due = await engine.db.row<{ oldest: string }>(sql`
    SELECT next_run_at AS oldest FROM batch_exports WHERE deleted_at IS NULL
      AND NOT paused AND next_run_at <= ${settledBefore} ORDER BY next_run_at LIMIT 1`);
  noteLag(engine, settledBefore, due?.oldest);
}

function noteLag(engine: Engine, settledBefore: string, oldest: string | undefined): void {
  engine.metrics.planner_lag_seconds.set(
    oldest === undefined ? 0 : (Date.parse(settledBefore) - Date.parse(oldest)) / 1000,
  );
}

async function settledInstant({ db, settle_seconds }: Engine): Promise<string> {
  return isoInstant((await databaseInstant(db)) - settle_seconds * 1000);
}

/**
 * Plans the next run of every export whose interval has settled, the longest waiting first, many
 * projects together; returns the number of planned runs. A run without source rows is completed as
 * it is planned. Guarantees: a run is planned once, however many processes call this. An export
 * that is several intervals behind gets one run for each, in order, over the following calls. An
 * export, a project or an analytics store that fails does not block the others.
 */
export async function planDueExports(
  engine: Engine,
  {
    look = (runs) => probe(engine.clickhouse, runs),
    onPlanned = () => undefined,
    onNothingDue = () => undefined,
  }: Options = {},
): Promise<number> {
  const settledBefore = await settledInstant(engine);
  const teams = await engine.db.rows<{ team_id: number; oldest: string }>(sql`
    SELECT team_id, min(next_run_at) AS oldest FROM batch_exports WHERE deleted_at IS NULL
      AND NOT paused AND next_run_at <= ${settledBefore}
    GROUP BY team_id ORDER BY oldest, random() LIMIT ${teams_per_turn_max}`);
  noteLag(engine, settledBefore, teams[0]?.oldest);
  if (teams.length === 0) {
    onNothingDue(minute_ms - (Date.parse(settledBefore) % minute_ms));
    return 0;
  }
  let planned = 0;
  const plan = async (those: Settled): Promise<void> => {
    planned += await planSettled(engine, those, { settledBefore, look, onPlanned });
  };
  const ids = teams.map(({ team_id }) => team_id);
  const ready = await settleAtOnce(engine, ids);
  const waits = openSemaphore(waits_at_once_max);
  const others = ids.filter((id) => !ready.final.has(id));
  const waitFor = async (id: number): Promise<void> => {
    const one = await waitForIngestion(engine, id);
    if (one !== undefined) await plan(one);
  };
  await Promise.all([plan(ready), ...others.map((id) => waits.run(() => waitFor(id)))]);
  return planned;
}

/**
 * Runs in its own transaction, so that ingestion waits for no later step. If one project blocks all
 * waiting ones, none is ready; then each is awaited alone.
 */
async function settleAtOnce(engine: Engine, teamIds: number[]): Promise<Settled> {
  try {
    return await settle(engine, shared_wait_seconds_max, (tx) => settledAtOnce(tx, teamIds));
  } catch (error) {
    engine.log.warn({ err: error }, 'due projects are waited for one by one');
    return { epoch: 0, final: new Map() };
  }
}

async function waitForIngestion(engine: Engine, teamId: number): Promise<Settled | undefined> {
  try {
    return await settle(
      engine,
      lock_seconds_max,
      async (tx) => new Map([[teamId, await settled(tx, teamId)]]),
    );
  } catch (error) {
    engine.log.warn(
      { err: error, team_id: teamId },
      'the ingestion of a project keeps its exports from being planned; they are tried again',
    );
    return undefined;
  }
}

async function settle(
  engine: Engine,
  wait_seconds_max: number,
  ask: (tx: Transaction) => Promise<Map<number, string>>,
): Promise<Settled> {
  return engine.db.transaction(async (tx) => {
    await tx.text(`SET LOCAL lock_timeout = '${wait_seconds_max}s'`);
    const final = await ask(tx);
    const now = await tx.row<{ epoch: number }>(sql`SELECT control_epoch() AS epoch`);
    return { epoch: now!.epoch, final };
  });
}

/** Plans due exports of projects whose rows are final. */
async function planSettled(
  engine: Engine,
  { epoch, final }: Settled,
  {
    settledBefore,
    look,
    onPlanned,
  }: Required<Omit<Options, 'onNothingDue'>> & {
    settledBefore: string;
  },
): Promise<number> {
  const due = await engine.db.rows<DueExport>(sql`
    SELECT due.* FROM unnest(${[...final.keys()]}::int[], ${[...final.values()]}::timestamptz[])
        AS project (team_id, final)
      CROSS JOIN LATERAL (
        SELECT id, team_id, model, custom_query, planned_until, next_run_at,
          least(${settledBefore}::timestamptz, project.final) AS final
        FROM batch_exports WHERE team_id = project.team_id AND deleted_at IS NULL AND NOT paused
          AND next_run_at <= least(${settledBefore}::timestamptz, project.final)
        ORDER BY next_run_at LIMIT ${exports_per_team_max}) due
    ORDER BY due.next_run_at LIMIT ${exports_per_look_max}`);
  const seen = await lookAt(engine, due, look);
  const isEmpty = ({ id }: DueExport) => seen.get(id)?.rows === 'empty';
  const waited_for = due.filter((of) => !isEmpty(of));
  let planned = 0;
  // Runs that workers wait for come first.
  const parts = [...partsOf(waited_for), ...partsOf(due.filter(isEmpty))];
  const permits = openSemaphore(at_once_max);
  const planOne = async (part: DueExport[]): Promise<void> => {
    const count = await planPart(engine, part, { epoch, seen });
    planned += count;
    if (count > 0) onPlanned();
  };
  await Promise.all(parts.map((part) => permits.run(() => planOne(part))));
  return planned;
}

/** In random order, because planners in the same order would do the same work. */
function partsOf(due: DueExport[]): DueExport[][] {
  const length = Math.ceil(due.length / exports_per_transaction_max);
  return Array.from({ length }, (_, part) => ({
    part: due.slice(part * exports_per_transaction_max, (part + 1) * exports_per_transaction_max),
    rank: Math.random(),
  }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ part }) => part);
}

/**
 * Counts the source rows of each export's next interval. An export without a count is planned too,
 * and counted afterwards.
 */
async function lookAt(engine: Engine, due: DueExport[], look: Look): Promise<Map<string, Seen>> {
  const runs = due.map((of) => ({ ...of, of, selection: toStored([intervalOf(of)]) }));
  let parted: Parted<(typeof runs)[number]>;
  try {
    parted = await look(runs);
  } catch (error) {
    engine.log.info({ err: error }, 'due exports are planned without a look at their rows');
    return new Map();
  }
  return new Map(
    (['empty', 'small', 'busy'] as const).flatMap((rows) =>
      parted[rows].map(({ of }) => [of.id, { rows, of }]),
    ),
  );
}

/** Bisection finds an export that cannot be planned; the others are planned without it. */
async function planPart(
  engine: Engine,
  due: DueExport[],
  known: { epoch: number; seen: Map<string, Seen> },
): Promise<number> {
  try {
    const { planned, ended } = await engine.db.transaction((tx) =>
      planScheduledRuns(engine, tx, due, known),
    );
    countEnded(engine, ended);
    return planned;
  } catch (error) {
    if (due.length === 1) {
      engine.log.error(
        { err: error, batch_export_id: due[0]!.id },
        'an export could not be planned; it is tried again',
      );
      return 0;
    }
    engine.log.warn({ err: error }, 'exports could not be planned together; fewer are tried');
  }
  const half = Math.ceil(due.length / 2);
  return (
    (await planPart(engine, due.slice(0, half), known)) +
    (await planPart(engine, due.slice(half), known))
  );
}
